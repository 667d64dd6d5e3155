import {
  isBroken,
  isExpression,
  splitText,
  textsIn,
  type BrokenExpression,
  type Expression,
} from '../../model/expression/parse.js';
import type { Json } from '../../model/json.js';
import type { ClusterSpec } from '../../model/cluster/spec.js';
import { groupOfNode } from '../../model/names.js';
import { peerScope } from '../../model/plan/work/service-work.js';
import type { Outlines } from '../../model/plan/order/dependencies.js';
import { outlinesOf } from '../../model/plan/order/dependencies.js';
import { errorIn, type Path, type Problem } from '../problem.js';
import { suggest } from '../suggest.js';

const roots = ['var', 'node', 'nodes', 'services'];

/** Keys of other nodes that are available to a task. */
const peerKeys = ['hostname', 'ipaddress', 'nodenum', 'group'];

/** Whether expressions at a path are resolved when a task is created, or when outputs are read. */
export function isBoundLate([section, , actions, , fields]: Path): boolean {
  return section === 'outputs' || (section === 'services' && actions === 'actions' && fields === 'fields');
}

export function brokenExpression(path: Path, { written, wrong }: BrokenExpression): Problem {
  return errorIn(path, written, wrong, 'To write a literal ${{, use $${{.');
}

export function unknownRoot(path: Path, { written, words }: Expression): Problem | undefined {
  const [root = ''] = words;
  if (roots.includes(root)) return undefined;
  return errorIn(path, written, `begins with the unknown word ${root}`, suggest(root, roots));
}

/** Checks the expressions that remain in a spec after its variables are bound. Pure. */
export function checkExpressions(spec: ClusterSpec): readonly Problem[] {
  const outlines = outlinesOf(spec.services);
  const inActions = Object.entries(spec.services).flatMap(([service, { actions }]) =>
    Object.entries(actions).flatMap(([action, { fields }]) =>
      checkTexts(spec, fields, ['services', service, 'actions', action, 'fields'], {
        outlines,
        service,
        action,
      }),
    ),
  );
  const inOutputs = Object.entries(spec.outputs ?? {}).flatMap(([name, { value, secret }]) =>
    checkTexts(spec, value, ['outputs', name], { outlines, isSecret: secret === true }),
  );
  return [...inActions, ...inOutputs];
}

/** The location of an expression: an action of a service, or an output. */
interface Location {
  readonly outlines: Outlines;
  readonly service?: string;
  readonly action?: string;
  readonly isSecret?: boolean;
}

function checkTexts(spec: ClusterSpec, value: Json, at: Path, location: Location): readonly Problem[] {
  return textsIn(value).flatMap(({ path, text }) =>
    splitText(text).flatMap((part): readonly Problem[] => {
      const place = [...at, ...path];
      if (isBroken(part)) return [brokenExpression(place, part)];
      if (!isExpression(part)) return [];
      const found = unknownRoot(place, part) ?? checkReference(spec, part, place, location);
      return found === undefined ? [] : [found];
    }),
  );
}

function checkReference(
  spec: ClusterSpec,
  { written, words }: Expression,
  path: Path,
  location: Location,
): Problem | undefined {
  const wrong = (what: string, right?: string): Problem => errorIn(path, written, what, right);
  const [root, name, key] = words;
  if (name === undefined) return wrong('is incomplete', `Write ${forms[root ?? ''] ?? ''}.`);
  switch (root) {
    case 'var': {
      const variable = ownOf(spec.variables ?? {}, name);
      if (variable === undefined) return wrong(hasNoValue);
      return location.isSecret === false && 'secret' in variable
        ? wrong('is a secret variable', 'Mark the output `secret: true`.')
        : undefined;
    }
    case 'node':
      return location.service === undefined
        ? wrong('refers to the node of a task, but an output has none', 'Name the node: nodes.ID.KEY.')
        : undefined;
    case 'nodes':
      if (!isNode(spec, name)) return wrong(`refers to a node that does not exist`, nodesHint(spec));
      return checkKey(key, wrong, location) ?? checkRead(servicesOfNode(spec, name), wrong, location);
    default:
      if (ownOf(spec.services, name) === undefined)
        return wrong('refers to a service that is not defined', suggest(name, Object.keys(spec.services)));
      if (!Object.values(spec.nodes).some(({ services }) => services.includes(name)))
        return wrong(`refers to a service that is on no node`);
      return checkKey(key, wrong, location) ?? checkRead([name], wrong, location);
  }
}

const forms: Readonly<Record<string, string>> = {
  var: 'var.NAME',
  node: 'node.KEY',
  nodes: 'nodes.ID.KEY',
  services: 'services.NAME.KEY',
};

/** For a variable that is not bound; binding reports the variable itself. */
export const hasNoValue = 'refers to a variable that has no value';

type Wrong = (what: string, right?: string) => Problem;

/** A task has few keys of other nodes; an output reads payloads, whose keys are known only later. */
function checkKey(key: string | undefined, wrong: Wrong, { service }: Location): Problem | undefined {
  if (key === undefined) return wrong('has no key', `Add one, such as ${peerKeys.join(', ')}.`);
  return service === undefined || peerKeys.includes(key)
    ? undefined
    : wrong(
        `refers to the key ${key}, which is not available for other nodes`,
        `Available keys: ${peerKeys.join(', ')}.`,
      );
}

/** Whether the action can read nodes with these services, and their addresses. */
function checkRead(
  services: readonly string[],
  wrong: Wrong,
  { outlines, service, action }: Location,
): Problem | undefined {
  if (service === undefined) return undefined;
  const scope = peerScope(outlines, service);
  if (scope !== 'all' && !services.some((name) => scope.has(name)))
    return wrong(
      `refers to a node that service ${service} does not read`,
      `Require a service of that node, or set peers: all for ${service}.`,
    );
  const why = blind[action ?? ''];
  return why === undefined ? undefined : wrong(`refers to other nodes, which ${action} cannot read`, why);
}

/** Actions during which other nodes may be missing. */
const blind: Readonly<Record<string, string>> = {
  install: 'Other nodes are available from configure on.',
  stop: 'Other nodes may be deleted by then.',
  remove: 'Other nodes may be deleted by then.',
};

function isNode({ nodes }: ClusterSpec, id: string): boolean {
  const [, group = '', index = ''] = /^(.+)-([1-9]\d*)$/.exec(id) ?? [];
  const found = ownOf(nodes, group);
  return found !== undefined && Number(index) <= found.count;
}

function servicesOfNode({ nodes }: ClusterSpec, id: string): readonly string[] {
  return ownOf(nodes, groupOfNode(id))?.services ?? [];
}

function nodesHint({ nodes }: ClusterSpec): string {
  const ids = Object.entries(nodes).map(([group, { count }]) =>
    count === 1 ? `${group}-1` : `${group}-1 to ${group}-${count}`,
  );
  return `Existing nodes: ${ids.slice(0, 10).join(', ')}.`;
}

function ownOf<Value>(object: Readonly<Record<string, Value>>, key: string): Value | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}
