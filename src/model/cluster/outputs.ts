import { evaluate, type KnownNode, type Scope } from '../expression/evaluate.js';
import { ExpressionError, fillValue } from '../expression/fill.js';
import type { Json } from '../json.js';
import type { NodeState } from '../node/state.js';
import { stripSecrets } from '../node/strip-secrets.js';
import type { ClusterState } from './state.js';
import { taskVariables } from './variables.js';

/** The value of an output, or why it has none at present. */
export type OutputValue = { readonly secret?: true; readonly description?: string } & (
  | { readonly value: Json }
  | { readonly missing: string }
);
export type Outputs = Readonly<Record<string, OutputValue>>;

/** What outputs are read from. */
type OutputState = Pick<ClusterState, 'spec' | 'imports' | 'nodes'>;

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

/** Secrets of payloads and variables can be read by secret outputs only. */
function scopeOf({ spec, imports, nodes }: OutputState, withSecrets: boolean): Scope {
  const variables = Object.entries(taskVariables(spec, imports)).filter(
    ([, { secret }]) => withSecrets || secret !== true,
  );
  const known = Object.values(nodes).filter(({ leaving, excluded }) => leaving !== true && excluded !== true);
  return {
    variables: Object.fromEntries(variables.map(([name, { value }]) => [name, value])),
    nodes: Object.fromEntries(known.map((node) => [node.nodeId, knownNode(node, withSecrets)])),
  };
}

function knownNode(
  { nodeId, nodenum, group, hostname, services, payload }: NodeState,
  withSecrets: boolean,
): KnownNode {
  const values = { id: nodeId, nodenum, group, hostname, ...payload };
  return { nodenum, services, values: withSecrets ? values : withoutSecrets(values, stripSecrets(values)) };
}

/** Values that are not shown are left out, so that an output does not publish their placeholders. */
function withoutSecrets(values: KnownNode['values'], shown: KnownNode['values']): KnownNode['values'] {
  return Object.fromEntries(
    Object.entries(shown).filter(([key, value]) => JSON.stringify(value) === JSON.stringify(values[key])),
  );
}
