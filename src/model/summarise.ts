import { outlineOf, type CurrentCluster, type NodeSummary } from './plan-operation.js';
import { peerScope, type PlannedFacts, type PlannedServiceFacts } from './chain.js';
import type { Outlines } from './dependencies.js';
import { stableJson } from './payload.js';
import { peersChangedAt } from './peers.js';
import { rangesOf } from './plan.js';
import { servicesOf, type ClusterState } from './state.js';
import type { NodeState } from './node.js';
import type { Json } from './json.js';

/** The cluster as planning sees it: nodes with equal facts together, so that its size follows the kinds of nodes. */
export function summarise(state: ClusterState): CurrentCluster {
  const services: Outlines = Object.fromEntries(Object.entries(servicesOf(state)).map(([name, spec]) => [name, outlineOf(spec)]));
  const groups = new Map<string, { readonly group: string; readonly facts: PlannedFacts; readonly indexes: number[] }>();
  for (const node of Object.values(state.nodes)) {
    const facts = plannedFacts(state, services, node);
    const key = `${node.group} ${stableJson(facts as Json)}`;
    const same = groups.get(key);
    if (same === undefined) groups.set(key, { group: node.group, facts, indexes: [indexOf(node)] });
    else same.indexes.push(indexOf(node));
  }
  const nodes: readonly NodeSummary[] = [...groups.values()].map(({ group, facts, indexes }) =>
    ({ group, facts, nodes: rangesOf(indexes.toSorted((a, b) => a - b)) }));
  return { nodes, services };
}

export function indexOf(node: NodeState): number {
  return Number(node.nodeId.slice(node.group.length + 1));
}

function plannedFacts(state: ClusterState, services: Outlines, node: NodeState): PlannedFacts {
  const entries = Object.entries(node.facts.services).map(([name, { peers, ...facts }]): [string, PlannedServiceFacts] => {
    const stale = facts.CONFIGURE !== undefined && (peers ?? 0) < peersChangedAt(state.peers, peerScope(services, name));
    return [name, stale ? { ...facts, peersStale: true } : facts];
  });
  return { ...node.facts, services: Object.fromEntries(entries) };
}
