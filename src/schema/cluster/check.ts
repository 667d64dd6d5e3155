import { directDependencies, type NeedKind, type Outlines } from '../../model/plan/order/dependencies.js';
import { outlinesOf } from '../../model/plan/order/dependencies.js';
import type { ClusterSpec, GroupSpec, ServiceSpec } from '../../model/cluster/spec.js';
import { importsOf } from '../../model/cluster/variables.js';
import { checkChanges } from './check-changes.js';
import { errorAt, warningAt, type Path, type Problem } from '../problem.js';
import { maxNodes } from './spec.js';
import { suggest } from '../suggest.js';

/** Names of machines are hostnames: one label of DNS. */
const maxHostname = 63;
/** Maximum number of reported cycles; dense dependencies contain too many. */
const maxCycles = 10;

/**
 * Checks references of a spec: that names exist, that services can be placed and started together. Pure.
 * Paths are those of a spec as users write it.
 */
export function checkCluster(spec: ClusterSpec): readonly Problem[] {
  return [
    ...Object.entries(spec.nodes).flatMap(([name, group]) => checkGroup(spec, name, group)),
    ...checkSize(spec),
    ...Object.entries(spec.services).flatMap(([name, service]) => checkService(spec, name, service)),
    ...checkCycles(spec),
    ...checkImports(spec),
  ];
}

function checkImports(spec: ClusterSpec): readonly Problem[] {
  return Object.keys(importsOf(spec)[spec.name] ?? {}).map((name) =>
    errorAt(
      ['variables', name, 'from'],
      'names this cluster itself',
      'Refer to its nodes: ${{ nodes.ID.KEY }}.',
    ),
  );
}

function checkGroup(spec: ClusterSpec, name: string, group: GroupSpec): readonly Problem[] {
  const path = ['nodes', name];
  return [
    ...checkGroupName(spec.name, name, path),
    ...(group.minimum !== undefined && group.minimum > group.count
      ? [errorAt([...path, 'minimum'], `is ${group.minimum}, but must be at most the count, ${group.count}`)]
      : []),
    ...checkGroupServices(spec, group, [...path, 'services']),
  ];
}

function checkGroupName(cluster: string, group: string, path: Path): readonly Problem[] {
  const problems: Problem[] = [];
  // `a-1` is the first node of group `a`; a group of that name would be ambiguous.
  if (/-\d+$/.test(group))
    problems.push(
      errorAt(
        path,
        'the name of a group must not end in a hyphen and a number, like the name of a node',
        'Rename the group.',
      ),
    );
  const longest = `${cluster}-${group}-${maxNodes}`.length;
  if (longest > maxHostname) {
    problems.push(
      errorAt(
        path,
        `hostnames <cluster>-<group>-<number> would have ${longest} characters; the limit is ${maxHostname}`,
        `Shorten the name of the cluster or of the group by ${longest - maxHostname}.`,
      ),
    );
  }
  return problems;
}

function checkGroupServices(spec: ClusterSpec, group: GroupSpec, path: Path): readonly Problem[] {
  const known = Object.keys(spec.services);
  return group.services.flatMap((name, index) => {
    const at = [...path, index];
    if (group.services.indexOf(name) < index)
      return [errorAt(at, `lists service ${name} twice`, 'Remove one of them.')];
    if (serviceNamed(spec, name) === undefined)
      return [
        errorAt(at, `service ${name} is not defined`, suggest(name, known) ?? 'Define it under services.'),
      ];
    const others = group.services.slice(0, index).filter((other) => conflict(spec, name, other));
    return others.map((other) =>
      errorAt(
        at,
        `${name} conflicts with ${other}, which is on the same nodes`,
        'Move one of them to another group.',
      ),
    );
  });
}

function conflict(spec: ClusterSpec, one: string, other: string): boolean {
  return excludes(spec, one, other) || excludes(spec, other, one);
}

function excludes(spec: ClusterSpec, one: string, other: string): boolean {
  return (
    one !== other && serviceNamed(spec, one)?.conflicts.some((name) => isMeant(spec, other, name)) === true
  );
}

/** Whether a name refers to a service: its own name, or one that it provides. */
function isMeant(spec: ClusterSpec, service: string, name: string): boolean {
  return service === name || serviceNamed(spec, service)?.provides.includes(name) === true;
}

/** Names in lists come from users, and `constructor` must not find a member of Object.prototype. */
function serviceNamed(spec: ClusterSpec, name: string): ServiceSpec | undefined {
  return Object.hasOwn(spec.services, name) ? spec.services[name] : undefined;
}

function checkSize(spec: ClusterSpec): readonly Problem[] {
  const total = Object.values(spec.nodes).reduce((sum, { count }) => sum + count, 0);
  return total > maxNodes
    ? [errorAt(['nodes'], `has ${total} nodes in total; the limit of a cluster is ${maxNodes}`)]
    : [];
}

function checkService(spec: ClusterSpec, name: string, service: ServiceSpec): readonly Problem[] {
  const path = ['services', name];
  const placed = isPlaced(spec, name);
  const needs = needsOf(service).flatMap(({ needed, key }) =>
    checkNeed(spec, needed, placed, [...path, ...key]),
  );
  const wanted =
    service.onPeersChange === 'restart'
      ? (['configure', 'start'] as const)
      : service.onPeersChange === 'configure'
        ? (['configure'] as const)
        : [];
  const missing = wanted.filter((action) => service.actions[action] === undefined);
  return [
    ...(placed
      ? []
      : [
          warningAt(
            path,
            'no group of nodes has this service',
            'Add it under nodes.<group>.services, or remove it.',
          ),
        ]),
    ...needs,
    ...checkChanges(spec, name, service, path),
    ...(service.check !== undefined && service.actions.start === undefined
      ? [
          warningAt(
            [...path, 'check'],
            'has no effect on START, because the service has no start action',
            'Only heddle status shows the result.',
          ),
        ]
      : []),
    ...missing.map((action) =>
      errorAt(
        [...path, 'onPeersChange'],
        `is ${service.onPeersChange}, but the service has no action ${action}`,
        `Add actions.${action}, or set onPeersChange: nothing.`,
      ),
    ),
  ];
}

interface Need {
  readonly needed: string;
  readonly key: readonly string[];
}

/** Reports services that both install and runtime require once, by the shorthand. */
function needsOf(service: ServiceSpec): readonly Need[] {
  const both = service.install.requires.filter((needed) => service.runtime.requires.includes(needed));
  const only = (kind: NeedKind): readonly Need[] =>
    service[kind].requires
      .filter((needed) => !both.includes(needed))
      .map((needed) => ({ needed, key: [kind, 'requires'] }));
  return [...both.map((needed) => ({ needed, key: ['requires'] })), ...only('install'), ...only('runtime')];
}

function checkNeed(spec: ClusterSpec, needed: string, placed: boolean, path: Path): readonly Problem[] {
  const meant = Object.keys(spec.services).filter((name) => isMeant(spec, name, needed));
  if (meant.length === 0) {
    const known = Object.entries(spec.services).flatMap(([name, { provides }]) => [name, ...provides]);
    return [
      errorAt(path, `no service is named ${needed} or provides it`, suggest(needed, [...new Set(known)])),
    ];
  }
  if (!placed || meant.some((name) => isPlaced(spec, name))) return [];
  return [errorAt(path, `${needed} is on no node`, `Add ${meant.join(' or ')} to the services of a group.`)];
}

function isPlaced(spec: ClusterSpec, service: string): boolean {
  return Object.values(spec.nodes).some(({ services }) => services.includes(service));
}

function checkCycles(spec: ClusterSpec): readonly Problem[] {
  const outlines = outlinesOf(spec.services);
  return [...cyclesOf(spec, outlines, 'install'), ...cyclesOf(spec, outlines, 'runtime')].filter(isFirst);
}

/** The same cycle in both kinds is one problem. */
function isFirst(problem: Problem, index: number, all: readonly Problem[]): boolean {
  return all.findIndex(({ wrong }) => wrong === problem.wrong) === index;
}

function cyclesOf(spec: ClusterSpec, outlines: Outlines, kind: NeedKind): readonly Problem[] {
  const names = Object.keys(outlines);
  const next = new Map(
    names.map((name) => [
      name,
      [
        ...directDependencies(outlines, name, kind),
        // A service may provide what it requires; requiring itself by its own name is an error.
        ...(serviceNamed(spec, name)?.[kind].requires.includes(name) === true ? [name] : []),
      ],
    ]),
  );
  const cycles: string[][] = [];
  const done = new Set<string>();
  const visit = (name: string, trail: readonly string[]): void => {
    if (done.has(name)) return;
    const start = trail.indexOf(name);
    if (start >= 0) {
      if (cycles.length < maxCycles) cycles.push([...trail.slice(start), name]);
      return;
    }
    for (const dependency of next.get(name) ?? []) visit(dependency, [...trail, name]);
    done.add(name);
  };
  for (const name of names) visit(name, []);
  return cycles.map((cycle) =>
    errorAt(
      ['services', cycle[0] ?? ''],
      `services have circular dependencies: ${cycle.join(' -> ')}`,
      'Remove one of these dependencies.',
    ),
  );
}
