import type { ServiceAction } from '../../action.js';
import { dependenciesWith, directDependencies, type NeedKind, type Outlines } from './dependencies.js';
import { PlanError } from '../plan-error.js';

/** One action of one service, on whichever nodes carry it. */
export interface Point {
  readonly action: ServiceAction;
  readonly service: string;
}

export interface Order {
  /** All points, each after everything it waits for. */
  readonly points: readonly Point[];
  /** The points of other services that a point waits for, on all their nodes. */
  readonly waitsFor: (point: Point) => readonly Point[];
}

const upActions = ['STOP', 'INSTALL', 'CONFIGURE', 'RELOAD', 'INITIALIZE', 'START'] as const;
const downActions = ['STOP', 'REMOVE'] as const;

/**
 * One order for the whole cluster. Every node's chain is a part of it, and that is why gates between nodes
 * cannot deadlock: the first unfinished point in the order never waits for a later one.
 * @throws PlanError naming the cycle when services need each other.
 */
export function upOrder(services: Outlines): Order {
  const dependents = dependentsWith(services, 'runtime', 'STOP');
  const waitsFor = remembered(({ action, service }) => {
    if (action === 'INSTALL')
      return points('INSTALL', dependenciesWith(services, service, 'install', 'INSTALL'));
    if (action === 'INITIALIZE' || action === 'START')
      return points('START', dependenciesWith(services, service, 'runtime', 'START'));
    if (action === 'CONFIGURE') return points('START', startedRoutes(services, service));
    if (action === 'STOP') return points('STOP', dependents(service));
    return [];
  });
  return { points: sortPoints(services, upActions, waitsFor), waitsFor };
}

function startedRoutes(services: Outlines, service: string): readonly string[] {
  return (services[service]?.routes ?? []).filter(
    (name) => services[name]?.actions.includes('START') === true,
  );
}

/**
 * The order of a rolling operation: all actions of a service together, after those of what it needs, so that
 * a node is done with one service before it touches the next. Only services that do not roll (`together`) are
 * stopped before, and only they wait for what depends on them to be stopped.
 * @throws PlanError naming the circle when a service must be installed before, and run after, another.
 */
export function rollingOrder(services: Outlines, together: ReadonlySet<string>): Order {
  const up = upOrder(services);
  const stops = up.points.filter(({ action, service }) => action === 'STOP' && together.has(service));
  const each = sortServices(services).flatMap((service) =>
    upActions
      .filter(
        (action) =>
          services[service]?.actions.includes(action) === true &&
          !(action === 'STOP' && together.has(service)),
      )
      .map((action): Point => ({ action, service })),
  );
  return {
    points: [...stops, ...each],
    waitsFor: (point) => {
      if (point.action !== 'STOP') return up.waitsFor(point);
      return together.has(point.service)
        ? up.waitsFor(point).filter(({ service }) => together.has(service))
        : [];
    },
  };
}

/** Tear-down: what depends on a service is stopped, and removed, before the service itself. */
export function downOrder(services: Outlines): Order {
  const stopped = dependentsWith(services, 'runtime', 'STOP');
  const removed = dependentsWith(services, 'install', 'REMOVE');
  const waitsFor = remembered(({ action, service }) =>
    action === 'STOP' ? points('STOP', stopped(service)) : points('REMOVE', removed(service)),
  );
  return { points: sortPoints(services, downActions, waitsFor), waitsFor };
}

/** Each after everything that it needs, to be installed or to run. */
function sortServices(services: Outlines): readonly string[] {
  const sorted = new Set<string>();
  const visit = (name: string, trail: readonly Needing[]): void => {
    if (sorted.has(name)) return;
    const start = trail.findIndex(({ service }) => service === name);
    if (start >= 0) throw new PlanError(describeCircle(trail.slice(start)));
    for (const kind of ['install', 'runtime'] as const) {
      for (const needed of directDependencies(services, name, kind))
        visit(needed, [...trail, { service: name, kind }]);
    }
    sorted.add(name);
  };
  for (const name of Object.keys(services)) visit(name, []);
  return [...sorted];
}

interface Needing {
  readonly service: string;
  readonly kind: NeedKind;
}

function describeCircle(circle: readonly Needing[]): string {
  const links = circle.map(
    ({ service, kind }, index) =>
      `${service} needs ${circle[(index + 1) % circle.length]?.service ?? ''} to ${kind === 'install' ? 'be installed' : 'run'}`,
  );
  return `services have circular dependencies (${links.join(', ')}), so a rolling operation is not possible; omit the width`;
}

/** The same for every kind of nodes, so it is worked out once. */
function remembered(waitsFor: Order['waitsFor']): Order['waitsFor'] {
  const known = new Map<string, readonly Point[]>();
  return (point) => {
    const id = idOf(point);
    const found = known.get(id) ?? waitsFor(point);
    known.set(id, found);
    return found;
  };
}

function points(action: ServiceAction, services: readonly string[]): readonly Point[] {
  return services.map((service) => ({ action, service }));
}

function dependentsWith(
  services: Outlines,
  kind: 'install' | 'runtime',
  action: ServiceAction,
): (service: string) => readonly string[] {
  const dependents: Record<string, string[]> = {};
  for (const [name, outline] of Object.entries(services)) {
    if (!outline.actions.includes(action)) continue;
    for (const dependency of dependenciesWith(services, name, kind, action))
      (dependents[dependency] ??= []).push(name);
  }
  return (service) => dependents[service] ?? [];
}

/**
 * Kahn's algorithm; of the points that are free, the earliest action goes first, then the service named
 * first.
 */
function sortPoints(
  services: Outlines,
  order: readonly ServiceAction[],
  waitsFor: (point: Point) => readonly Point[],
): readonly Point[] {
  const all = order.flatMap((action) =>
    Object.entries(services).flatMap(([service, outline]) =>
      outline.actions.includes(action) ? [{ action, service }] : [],
    ),
  );
  const before = (point: Point): readonly Point[] => {
    const own = all.filter(
      (other) => other.service === point.service && order.indexOf(other.action) < order.indexOf(point.action),
    );
    return [...own, ...waitsFor(point)];
  };
  const sorted: Point[] = [];
  const done = new Set<string>();
  let open = all.map((point) => ({ point, needs: before(point).map(idOf) }));
  while (open.length > 0) {
    const next = open.find(({ needs }) => needs.every((id) => done.has(id)));
    if (next === undefined) throw new PlanError(`services wait for each other: ${describeCycle(open, done)}`);
    sorted.push(next.point);
    done.add(idOf(next.point));
    open = open.filter((entry) => entry !== next);
  }
  return sorted;
}

function describeCycle(
  open: readonly { readonly point: Point; readonly needs: readonly string[] }[],
  done: ReadonlySet<string>,
): string {
  const needs = new Map(open.map((entry) => [idOf(entry.point), entry.needs]));
  const path: string[] = [];
  let id = idOf(open[0]?.point ?? { action: 'START', service: '' });
  while (!path.includes(id)) {
    path.push(id);
    id = needs.get(id)?.find((need) => !done.has(need)) ?? id;
  }
  return [...path.slice(path.indexOf(id)), id].join(' -> ');
}

export function idOf(point: Point): string {
  return `${point.action}:${point.service}`;
}
