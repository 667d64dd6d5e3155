import { evaluate, type KnownNode, type Scope } from '../expression/evaluate.js';
import { ExpressionError, fillValue } from '../expression/fill.js';
import { isExpression, splitText, textsIn } from '../expression/parse.js';
import type { Json } from '../json.js';
import type { NodeState } from '../node/state.js';
import { stripSecrets } from '../node/strip-secrets.js';
import type { ClusterSpec } from './spec.js';
import type { ClusterState } from './state.js';
import { taskVariables } from './variables.js';

/** The value of an output, or why it has none at present. */
export type OutputValue = { readonly secret?: true; readonly description?: string } & (
  | { readonly value: Json }
  | { readonly missing: string }
);
export type Outputs = Readonly<Record<string, OutputValue>>;

/** What outputs are read from. */
type OutputState = Pick<ClusterState, 'spec' | 'imports' | 'nodes' | 'groups'>;

/** The words of an expression in an output that refers to nodes, such as `['nodes', 'db-1', 'ipaddress']`. */
export type NodeReference = readonly string[];

/** Those values of a node that outputs refer to; only secret outputs read the `hidden` ones. */
interface OutputNode extends KnownNode {
  readonly hidden: readonly string[];
}
export type OutputNodes = Readonly<Record<string, OutputNode>>;

/** The outputs of a cluster as its nodes are at present. */
export function outputsOf(state: OutputState): Outputs {
  const scopes = { shown: scopeOf(state, false), secret: scopeOf(state, true) };
  return Object.fromEntries(
    Object.entries(state.spec?.outputs ?? {}).map(([name, { value, ...about }]) => [
      name,
      { ...about, ...valueOf(value, about.secret === true ? scopes.secret : scopes.shown) },
    ]),
  );
}

function valueOf(value: Json, scope: Scope): { readonly value: Json } | { readonly missing: string } {
  try {
    return { value: fillValue(value, (expression) => evaluate(expression, scope)) };
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    return { missing: error.message };
  }
}

/** The expressions of a spec's outputs that refer to nodes. */
export function nodeReferences(spec: ClusterSpec | undefined): readonly NodeReference[] {
  return Object.values(spec?.outputs ?? {}).flatMap(({ value }) =>
    textsIn(value).flatMap(({ text }) =>
      splitText(text).flatMap((part) => (isExpression(part) && part.words[0] !== 'var' ? [part.words] : [])),
    ),
  );
}

/** What outputs read of these nodes. */
export function outputNodes(nodes: ClusterState['nodes'], references: readonly NodeReference[]): OutputNodes {
  const present = Object.values(nodes).filter(
    ({ leaving, excluded }) => leaving !== true && excluded !== true,
  );
  return Object.fromEntries(
    present.flatMap((node) => {
      const keys = references.filter((words) => concerns(words, node)).map(([, , ...rest]) => rest.join('.'));
      return keys.length === 0 ? [] : [[node.nodeId, outputNode(node, keys)] as const];
    }),
  );
}

function concerns([root, name = '']: NodeReference, { nodeId, services }: NodeState): boolean {
  return root === 'nodes' ? name === nodeId : services.includes(name);
}

/** Keys of payloads may hold dots, so a key of several words may be one key or lead into a mapping. */
function outputNode(
  { nodeId, nodenum, group, hostname, services, payload }: NodeState,
  keys: readonly string[],
): OutputNode {
  const all = { id: nodeId, nodenum, group, hostname, ...payload };
  const values = Object.fromEntries(
    Object.entries(all).filter(([key]) => keys.some((read) => read === key || read.startsWith(`${key}.`))),
  );
  const shown = stripSecrets(values);
  const hidden = Object.keys(values).filter(
    (key) => JSON.stringify(shown[key]) !== JSON.stringify(values[key]),
  );
  return { nodenum, services, values, hidden };
}

/** Secrets of payloads and variables can be read by secret outputs only. */
function scopeOf({ spec, imports, nodes, groups }: OutputState, withSecrets: boolean): Scope {
  const variables = Object.entries(taskVariables(spec, imports)).filter(
    ([, { secret }]) => withSecrets || secret !== true,
  );
  const own = outputNodes(nodes, nodeReferences(spec));
  const inGroups = Object.values(groups).flatMap(({ outputNodes: found = {} }) => Object.entries(found));
  return {
    variables: Object.fromEntries(variables.map(([name, { value }]) => [name, value])),
    nodes: Object.fromEntries(
      [...Object.entries(own), ...inGroups].map(([id, node]) => [
        id,
        withSecrets ? node : withoutHidden(node),
      ]),
    ),
  };
}

/** Values that are not shown are left out, so that an output does not publish their placeholders. */
function withoutHidden({ values, hidden, ...node }: OutputNode): KnownNode {
  return {
    ...node,
    values: Object.fromEntries(Object.entries(values).filter(([key]) => !hidden.includes(key))),
  };
}
