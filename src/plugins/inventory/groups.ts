import { isJsonObject, type JsonObject } from '../../model/json.js';

/** A group of hosts in an Ansible inventory. */
export interface Group {
  /** The group's entry and variables of each host. */
  readonly hosts: Map<string, JsonObject>;
  readonly children: Set<string>;
  vars: JsonObject;
}

/** By name; `all` always exists. */
export type Groups = Map<string, Group>;

/** The content of group_vars and host_vars beside an inventory. */
export interface VariableFiles {
  readonly groups: ReadonlyMap<string, JsonObject>;
  readonly hosts: ReadonlyMap<string, JsonObject>;
}

export function newGroups(): Groups {
  const groups: Groups = new Map();
  groupIn(groups, 'all');
  return groups;
}

/** Creates it if absent. */
export function groupIn(groups: Groups, name: string): Group {
  const known = groups.get(name);
  if (known !== undefined) return known;
  const made: Group = { hosts: new Map(), children: new Set(), vars: {} };
  groups.set(name, made);
  return made;
}

/**
 * Hosts of these groups and their child groups, in the order of the inventory; all hosts if no group is
 * named.
 */
export function hostsOf(groups: Groups, names: readonly string[] | undefined): readonly string[] {
  const within =
    names === undefined || names.includes('all')
      ? [...groups.keys()]
      : [...groups.keys()].filter((name) => names.some((one) => one === name || isBelow(groups, name, one)));
  return [...new Set(within.flatMap((name) => [...(groups.get(name)?.hosts.keys() ?? [])]))];
}

/**
 * All variables of a host in increasing precedence: groups from the farthest to the nearest, their files, the
 * host, its file.
 */
export function variablesOf(groups: Groups, host: string, files: VariableFiles): JsonObject {
  const direct = [...groups.keys()].filter((name) => groups.get(name)?.hosts.has(host) === true);
  const around = [...groups.keys()].filter(
    (name) => name === 'all' || direct.some((one) => one === name || isBelow(groups, one, name)),
  );
  const ordered = around
    .map((name) => ({ name, depth: depthOf(groups, name), priority: priorityOf(groups.get(name)?.vars) }))
    .toSorted(
      (one, other) =>
        one.depth - other.depth || one.priority - other.priority || (one.name < other.name ? -1 : 1),
    )
    .map(({ name }) => name);
  return Object.assign(
    {},
    ...ordered.map((name) => groups.get(name)?.vars),
    ...ordered.map((name) => files.groups.get(name)),
    ...direct.map((name) => groups.get(name)?.hosts.get(host)),
    files.hosts.get(host),
  ) as JsonObject;
}

/** @returns the groups of a cycle, which is an error; undefined if there is none. */
export function findCircle(groups: Groups): readonly string[] | undefined {
  const name = [...groups.keys()].find((one) => isBelow(groups, one, one));
  return name === undefined
    ? undefined
    : [...groups.keys()].filter((one) => isBelow(groups, one, name) && isBelow(groups, name, one));
}

function isBelow(groups: Groups, name: string, above: string, seen = new Set<string>()): boolean {
  for (const child of groups.get(above)?.children ?? []) {
    if (child === name) return true;
    if (seen.has(child)) continue;
    seen.add(child);
    if (isBelow(groups, name, child, seen)) return true;
  }
  return false;
}

/** Its longest distance from `all`. */
function depthOf(groups: Groups, name: string): number {
  if (name === 'all') return 0;
  const parents = [...groups].filter(([, { children }]) => children.has(name)).map(([parent]) => parent);
  return 1 + Math.max(0, ...parents.map((parent) => depthOf(groups, parent)));
}

function priorityOf(vars: JsonObject = {}): number {
  const { ansible_group_priority: priority } = vars;
  return typeof priority === 'number'
    ? priority
    : Number(typeof priority === 'string' && /^\d+$/.test(priority) ? priority : 1);
}

export function asVariables(value: unknown): JsonObject | undefined {
  return value === undefined || value === null
    ? {}
    : isJsonObject(value as JsonObject)
      ? (value as JsonObject)
      : undefined;
}
