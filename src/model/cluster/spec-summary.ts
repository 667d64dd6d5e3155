import type { JsonObject } from '../json.js';
import type { ClusterSpec } from './spec.js';

/** What a cluster consists of, for the memo of its workflow: a line for each group of nodes. */
export function summariseSpec({ nodes, labels }: ClusterSpec): JsonObject {
  const groups = Object.entries(nodes).map(([name, { count, provider, hardware, image, services }]) => [
    name,
    `${count} × ${hardware} at ${provider}, image ${image}${services.length === 0 ? '' : `: ${services.join(', ')}`}`,
  ]);
  return { nodes: Object.fromEntries(groups), ...(labels === undefined ? {} : { labels }) };
}
