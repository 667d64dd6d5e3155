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
import { peerScope } from '../../model/plan/chain.js';
import type { Outlines } from '../../model/plan/dependencies.js';
import { outlinesOf } from '../../model/plan/plan-operation.js';
import { errorIn, type Path, type Problem } from '../problem.js';
import { suggest } from '../suggest.js';

const roots = ['var', 'node', 'nodes', 'services'];

/** What a task knows of the nodes of its cluster. */
const peerKeys = ['hostname', 'ipaddress', 'nodenum', 'group'];

/** Whether expressions at a path are resolved when a task is created, or when outputs are read. */
export function isBoundLate([section, , actions, , fields]: Path): boolean {
  return section === 'outputs' || (section === 'services' && actions === 'actions' && fields === 'fields');
}

export function brokenExpression(path: Path, { written, wrong }: BrokenExpression): Problem {
  return errorIn(path, written, wrong, 'For the text ${{ itself, write $${{.');
}

export function unknownRoot(path: Path, { written, words }: Expression): Problem | undefined {
  const [root = ''] = words;
  if (roots.includes(root)) return undefined;
  return errorIn(path, written, `begins with the unknown word ${root}`, suggest(root, roots));
}

/** Checks the expressions that a spec holds when its variables are bound. Pure. */
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

/** Where an expression stands: in an action of a service, or in an output. */
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
  if (name === undefined) return wrong('names nothing', `Write ${forms[root ?? ''] ?? ''}.`);
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
        ? wrong('is the node of a task, and an output has none', 'Name the node: nodes.ID.KEY.')
        : undefined;
    case 'nodes':
      if (!isNode(spec, name)) return wrong(`names no node of the cluster`, nodesHint(spec));
      return checkKey(key, wrong, location) ?? checkRead(servicesOfNode(spec, name), wrong, location);
    default:
      if (ownOf(spec.services, name) === undefined)
        return wrong('names no service', suggest(name, Object.keys(spec.services)));
      if (!Object.values(spec.nodes).some(({ services }) => services.includes(name)))
        return wrong(`names a service that is on no node`);
      return checkKey(key, wrong, location) ?? checkRead([name], wrong, location);
  }
}

const forms: Readonly<Record<string, string>> = {
  var: 'var.NAME',
  node: 'node.KEY',
  nodes: 'nodes.ID.KEY',
  services: 'services.NAME.KEY',
};

/** Of a variable that is not bound; binding reports the variable itself. */
export const hasNoValue = 'names a variable that has no value here';

type Wrong = (what: string, right?: string) => Problem;

/** A task knows few keys of other nodes; an output reads payloads, whose keys show only later. */
function checkKey(key: string | undefined, wrong: Wrong, { service }: Location): Problem | undefined {
  if (key === undefined) return wrong('names no key', `Such as ${peerKeys.join(', ')}.`);
  return service === undefined || peerKeys.includes(key)
    ? undefined
    : wrong(
        `names the key ${key}, which tasks do not know of other nodes`,
        `They know ${peerKeys.join(', ')}.`,
      );
}

/** Whether the action sees nodes with these services, and with their addresses. */
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
      `Require a service of that node, or set \`peers: all\` for ${service}.`,
    );
  const why = blind[action ?? ''];
  return why === undefined ? undefined : wrong(`refers to other nodes, which ${action} cannot`, why);
}

/** Actions during which other nodes may be missing. */
const blind: Readonly<Record<string, string>> = {
  install: 'They are known from configure on.',
  stop: 'They may be gone by then.',
  remove: 'They may be gone by then.',
};

function isNode({ nodes }: ClusterSpec, id: string): boolean {
  const [, group = '', index = ''] = /^(.+)-([1-9]\d*)$/.exec(id) ?? [];
  const found = ownOf(nodes, group);
  return found !== undefined && Number(index) <= found.count;
}

function servicesOfNode({ nodes }: ClusterSpec, id: string): readonly string[] {
  return ownOf(nodes, id.replace(/-\d+$/, ''))?.services ?? [];
}

function nodesHint({ nodes }: ClusterSpec): string {
  const ids = Object.entries(nodes).map(([group, { count }]) =>
    count === 1 ? `${group}-1` : `${group}-1 to ${group}-${count}`,
  );
  return `It has ${ids.slice(0, 10).join(', ')}.`;
}

function ownOf<Value>(object: Readonly<Record<string, Value>>, key: string): Value | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}
