import { evaluate, type Scope } from '../expression/evaluate.js';
import { ExpressionError, fillValue } from '../expression/fill.js';
import type { Json } from '../json.js';
import { nodeReferences, outputNodes, withoutHidden } from './output-nodes.js';
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

/** The outputs of a cluster as its nodes are at present. Secrets can be read by secret outputs only. */
export function outputsOf({ spec, imports, nodes, groups }: OutputState): Outputs {
  const variables = Object.entries(taskVariables(spec, imports));
  const inGroups = Object.values(groups).flatMap(({ outputNodes: found = {} }) => Object.entries(found));
  const known = [...Object.entries(outputNodes(nodes, nodeReferences(spec))), ...inGroups];
  const scopeOf = (withSecrets: boolean): Scope => ({
    variables: Object.fromEntries(
      variables
        .filter(([, { secret }]) => withSecrets || secret !== true)
        .map(([name, { value }]) => [name, value]),
    ),
    nodes: Object.fromEntries(known.map(([id, node]) => [id, withSecrets ? node : withoutHidden(node)])),
  });
  const scopes = { shown: scopeOf(false), secret: scopeOf(true) };
  return Object.fromEntries(
    Object.entries(spec?.outputs ?? {}).map(([name, { value, ...about }]) => [
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
