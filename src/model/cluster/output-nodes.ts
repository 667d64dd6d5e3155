import { jsonBytes } from '../carried.js';
import type { KnownNode } from '../expression/evaluate.js';
import { isExpression, splitText, textsIn } from '../expression/parse.js';
import type { NodeState } from '../node/state.js';
import { stripSecrets } from '../node/strip-secrets.js';
import type { ClusterSpec } from './spec.js';

/** The words of an expression in an output that refers to nodes, such as `['nodes', 'db-1', 'ipaddress']`. */
export type NodeReference = readonly string[];

/** Those values of a node that outputs refer to; only secret outputs read the `hidden` ones. */
interface OutputNode extends KnownNode {
  readonly hidden: readonly string[];
}
export type OutputNodes = Readonly<Record<string, OutputNode>>;

/** The expressions of a spec's outputs that refer to nodes. */
export function nodeReferences(spec: ClusterSpec | undefined): readonly NodeReference[] {
  return Object.values(spec?.outputs ?? {}).flatMap(({ value }) =>
    textsIn(value).flatMap(({ text }) =>
      splitText(text).flatMap((part) => (isExpression(part) && part.words[0] !== 'var' ? [part.words] : [])),
    ),
  );
}

/**
 * What a group reports of its nodes for outputs, in bytes of JSON: values beyond that are missing in the
 * outputs.
 */
export const mostOutputBytes = 200_000;

/** What outputs read of these nodes. */
export function outputNodes(
  nodes: Readonly<Record<string, NodeState>>,
  references: readonly NodeReference[],
  most = Infinity,
): OutputNodes {
  const present = Object.values(nodes).filter(
    ({ leaving, excluded }) => leaving !== true && excluded === undefined,
  );
  let bytes = 0;
  return Object.fromEntries(
    present.flatMap((node) => {
      const keys = references.filter((words) => concerns(words, node)).map(([, , ...rest]) => rest.join('.'));
      if (keys.length === 0) return [];
      const read = outputNode(node, keys);
      bytes += jsonBytes(read);
      return [[node.nodeId, bytes <= most ? read : { ...read, values: {}, hidden: [] }] as const];
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

/** Values that are not shown are left out, so that an output does not publish their placeholders. */
export function withoutHidden({ values, hidden, ...node }: OutputNode): KnownNode {
  return {
    ...node,
    values: Object.fromEntries(Object.entries(values).filter(([key]) => !hidden.includes(key))),
  };
}
