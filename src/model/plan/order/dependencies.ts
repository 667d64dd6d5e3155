import { serviceActionKeys, type ServiceAction } from '../../action.js';
import type { ServiceSpec } from '../../cluster/spec.js';

/**
 * What planning needs to know of a service: its needs and which actions it declares, without their fields.
 */
export interface ServiceOutline {
  readonly provides: readonly string[];
  readonly install: NeedsOutline;
  readonly runtime: NeedsOutline;
  readonly peers: 'all' | 'dependencies' | 'none';
  readonly onPeersChange: 'configure' | 'restart' | 'nothing';
  /** Absent: reload where there is such an action, else configure. */
  readonly onConfigChange?: 'restart' | 'reload' | 'configure' | 'nothing';
  /** Services that it routes traffic to: its CONFIGURE names their nodes, so it comes after their START. */
  readonly routes?: readonly string[];
  readonly actions: readonly ServiceAction[];
}

interface NeedsOutline {
  readonly requires: readonly string[];
  readonly uses: readonly string[];
}

export type Outlines = Readonly<Record<string, ServiceOutline>>;
export type NeedKind = 'install' | 'runtime';

export function outlinesOf(services: Readonly<Record<string, ServiceSpec>>): Outlines {
  const outlines = Object.entries(services).map(([name, service]): [string, ServiceOutline] => {
    const outline = outlineOf(service);
    const routes = Object.keys(services).filter((other) => services[other]?.rolling?.drain.includes(name));
    if (routes.length === 0) return [name, outline];
    const { requires, uses } = outline.runtime;
    return [name, { ...outline, routes, runtime: { requires, uses: [...uses, ...routes] } }];
  });
  return Object.fromEntries(outlines);
}

function outlineOf(service: ServiceSpec): ServiceOutline {
  const keys = Object.keys(service.actions) as (keyof typeof serviceActionKeys)[];
  return {
    provides: service.provides,
    install: service.install,
    runtime: service.runtime,
    peers: service.peers,
    onPeersChange: service.onPeersChange,
    ...(service.onConfigChange === undefined ? {} : { onConfigChange: service.onConfigChange }),
    actions: keys.map((key) => serviceActionKeys[key]),
  };
}

/**
 * The services that a service depends on directly, by name or by what they provide; those absent are left
 * out.
 */
export function directDependencies(services: Outlines, service: string, kind: NeedKind): readonly string[] {
  const { requires = [], uses = [] } = services[service]?.[kind] ?? {};
  return providersOf(services, service, [...requires, ...uses]);
}

/** The services without which a service cannot run. Those that it only uses may stop while it runs. */
export function requiredServices(services: Outlines, service: string): readonly string[] {
  return providersOf(services, service, services[service]?.runtime.requires ?? []);
}

function providersOf(services: Outlines, service: string, names: readonly string[]): readonly string[] {
  const wanted = new Set(names);
  return Object.entries(services).flatMap(([name, other]) => {
    const provides = wanted.has(name) || other.provides.some((provided) => wanted.has(provided));
    return provides && name !== service ? [name] : [];
  });
}

/** The services without which a service cannot be installed or run, by name or by what they provide. */
export function directRequirements(services: Outlines, service: string): readonly string[] {
  const outline = services[service];
  if (outline === undefined) return [];
  return providersOf(services, service, [...outline.install.requires, ...outline.runtime.requires]);
}

/**
 * The services whose `action` must be done before a service may continue. A service that does not declare the
 * action is replaced by its own dependencies.
 */
export function dependenciesWith(
  services: Outlines,
  service: string,
  kind: NeedKind,
  action: ServiceAction,
): readonly string[] {
  const found = new Set<string>();
  const seen = new Set<string>([service]);
  const open = [...directDependencies(services, service, kind)];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (seen.has(name)) continue;
    seen.add(name);
    if (services[name]?.actions.includes(action) === true) found.add(name);
    else open.push(...directDependencies(services, name, kind));
  }
  return Object.keys(services).filter((name) => found.has(name));
}

/** Every service that a service needs at all, near or far; itself included. */
export function dependencyClosure(services: Outlines, service: string): ReadonlySet<string> {
  const closure = new Set<string>();
  const open = [service];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (closure.has(name)) continue;
    closure.add(name);
    open.push(
      ...directDependencies(services, name, 'install'),
      ...directDependencies(services, name, 'runtime'),
    );
  }
  return closure;
}

/**
 * The services and everything that requires them at run time, near or far, in the order of `services`; only
 * through services for which `isReached` holds.
 */
export function withDependents(
  services: Outlines,
  names: readonly string[],
  isReached: (name: string) => boolean = () => true,
): readonly string[] {
  const dependents = new Map<string, string[]>();
  for (const name of Object.keys(services)) {
    for (const needed of requiredServices(services, name))
      dependents.set(needed, [...(dependents.get(needed) ?? []), name]);
  }
  return reachedFrom(services, names, (name) => (dependents.get(name) ?? []).filter(isReached));
}

/** The services and everything that they need at run time, near or far, in the order of `services`. */
export function withNeeds(services: Outlines, names: readonly string[]): readonly string[] {
  return reachedFrom(services, names, (name) => directDependencies(services, name, 'runtime'));
}

function reachedFrom(
  services: Outlines,
  names: readonly string[],
  next: (name: string) => readonly string[],
): readonly string[] {
  const reached = new Set<string>();
  const open = [...names];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (reached.has(name)) continue;
    reached.add(name);
    open.push(...next(name));
  }
  return Object.keys(services).filter((name) => reached.has(name));
}
