import { upsertMemo, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { stableJson } from '../../model/node/payload.js';
import { indexLabels } from '../../model/cluster/labels.js';
import type { Json, JsonObject } from '../../model/json.js';
import { usedIncarnation } from '../../model/node/record.js';
import { searchAttributes } from '../../model/names.js';
import type { NodeState } from '../../model/node/state.js';
import type { Operation } from '../../model/cluster/operation.js';
import { publishPeers, touchPeers, type PeersState } from '../../model/node/peers.js';
import { phaseOf } from '../../model/cluster/report.js';
import type { ClusterState, Halt } from '../../model/cluster/state.js';
import { change, type EntityMemory } from '../entity.js';
import type { NodesState } from '../../model/cluster/work.js';
import { conditionOf } from '../inbox.js';
import { withCounts } from '../../model/cluster/scaled.js';
import type { ClusterSpec } from '../../model/cluster/spec.js';

/** Holds the nodes of a workflow during one run. The state itself is never mutated. */
export interface NodesMemory extends Pick<EntityMemory, 'changes'> {
  state: NodesState & { readonly peers: PeersState };
  /** The work of this workflow's own nodes that is under way. */
  run?: { forget(nodeId: string): void };
}

/** Holds a cluster's state during one run of its workflow. */
export interface Memory extends NodesMemory, EntityMemory {
  state: ClusterState;
  /** Set once the operation under way is to end early: nothing new is started for it. */
  halt?: Halt;
  /** This run ends: nothing more is sent, for a message sent together with a continue-as-new is lost. */
  closing?: true;
  /** Groups that a message is on its way to. */
  sending: readonly string[];
  /** An event is being delivered. */
  publishing?: true;
  /** Nodes that the plan adds to this workflow while it is being applied. */
  placing: number;
  /** The services of these nodes, each counted on each node. */
  placingServices: number;
  /** The operation for which the holder of a node was last asked. */
  askedFor?: string;
  /** When the holder of a node was last asked, in ms since the epoch. */
  leaseCheckedAt?: number;
  /** When the machines are checked next, in ms since the epoch. */
  checkAt?: number;
  /** No earlier run of the cluster can have left anything. */
  isFirst?: boolean;
}

export function changeNode(memory: NodesMemory, nodeId: string, to: (node: NodeState) => NodeState): void {
  const node = memory.state.nodes[nodeId];
  if (node === undefined) return;
  change(memory, { nodes: { ...memory.state.nodes, [nodeId]: to(node) } });
}

export function changeNodes(memory: NodesMemory, to: (node: NodeState) => NodeState): void {
  const nodes = Object.fromEntries(Object.entries(memory.state.nodes).map(([id, node]) => [id, to(node)]));
  change(memory, { nodes });
}

export function dropNode(memory: NodesMemory, nodeId: string): void {
  const { [nodeId]: gone, ...nodes } = memory.state.nodes;
  if (gone === undefined) return;
  change(memory, { nodes, incarnation: Math.max(memory.state.incarnation, usedIncarnation(gone)) });
}

/**
 * Notes that a node joined, changed its services, or got another address; its peers see it from this version
 * on.
 */
export function announceNode(memory: NodesMemory, nodeId: string): void {
  const node = memory.state.nodes[nodeId];
  if (node === undefined) return;
  const peers = touchPeers(memory.state.peers, node.services);
  const { [nodeId]: _back, ...gone } = peers.gone;
  change(memory, { peers: { ...peers, gone } });
  changeNode(memory, nodeId, (before) => ({ ...before, changedAt: peers.version }));
}

/**
 * Notes that something else changed that peers see of a node. Tasks see it with the next change of membership
 * or address: services are not configured again for it, and no task waits for a newer list.
 */
export function publishNode(memory: NodesMemory, nodeId: string): void {
  const peers = publishPeers(memory.state.peers);
  change(memory, { peers });
  changeNode(memory, nodeId, (node) => ({ ...node, changedAt: peers.version }));
}

/** Hides a node from its peers: it is being removed, or the operation continues without it. */
export function hideNode(
  memory: NodesMemory,
  nodeId: string,
  why: Pick<NodeState, 'leaving' | 'excluded'>,
): void {
  const node = memory.state.nodes[nodeId];
  if (node === undefined || Object.keys(why).every((key) => node[key as keyof typeof why] !== undefined))
    return;
  const peers = touchPeers(memory.state.peers, [...node.services, ...Object.keys(node.facts.services)]);
  change(memory, { peers: { ...peers, gone: { ...peers.gone, [nodeId]: peers.version } } });
  changeNode(memory, nodeId, (before) => ({ ...before, ...why, changedAt: peers.version }));
}

/** Makes a node that was hidden a peer again. */
export function showNode(memory: NodesMemory, nodeId: string): void {
  const node = memory.state.nodes[nodeId];
  if (node === undefined || (node.leaving !== true && node.excluded === undefined)) return;
  changeNode(memory, nodeId, ({ leaving: _leaving, excluded: _excluded, ...rest }) => rest);
  announceNode(memory, nodeId);
}

export function changeOperation(memory: Memory, part: Partial<Operation>): void {
  if (memory.state.operation === undefined) return;
  change(memory, { operation: { ...memory.state.operation, ...part } });
}

/** Records machines that were given up undeleted. */
export function noteAbandoned(memory: Memory, machines: readonly string[]): void {
  const { abandoned = [] } = memory.state.operation ?? {};
  if (machines.length > 0) changeOperation(memory, { abandoned: [...abandoned, ...machines] });
}

export function countTasks(memory: Memory, added: Partial<Operation['tasks']>): void {
  const tasks = memory.state.operation?.tasks ?? { total: 0, done: 0, failed: 0 };
  changeOperation(memory, {
    tasks: {
      total: tasks.total + (added.total ?? 0),
      done: tasks.done + (added.done ?? 0),
      failed: tasks.failed + (added.failed ?? 0),
    },
  });
}

const clusterKey = defineSearchAttributeKey(searchAttributes.cluster, SearchAttributeType.KEYWORD);
const providerKey = defineSearchAttributeKey(searchAttributes.provider, SearchAttributeType.KEYWORD);
const labelsKey = defineSearchAttributeKey(searchAttributes.labels, SearchAttributeType.KEYWORD_LIST);
const phaseKey = defineSearchAttributeKey(searchAttributes.phase, SearchAttributeType.KEYWORD);

/** Shows in the memo what the cluster consists of, whenever that changes. */
export async function keepMemo(memory: Memory): Promise<never> {
  let published = stableJson((workflowInfo().memo?.['heddleSpec'] ?? null) as Json);
  for (;;) {
    const seen = memory.changes;
    const { spec, scaled } = memory.state;
    const summary = spec === undefined ? null : summariseSpec(withCounts(spec, scaled));
    if (published !== stableJson(summary) && memory.closing !== true) {
      published = stableJson(summary);
      upsertMemo({ heddleSpec: summary });
    }
    await conditionOf('memo', () => memory.changes !== seen);
  }
}

/** Updates the search attributes of the workflow whenever phase, providers or labels change. */
export async function keepSearchAttributes(memory: Memory): Promise<never> {
  let published = '';
  let labelled = false;
  for (;;) {
    const seen = memory.changes;
    const { name, spec, features } = memory.state;
    const phase = phaseOf(memory.state);
    const names = Object.values(spec?.nodes ?? {}).map((group) => group.provider);
    const providers = [...new Set(names)].toSorted().join(',');
    const labels = indexLabels(spec?.labels ?? {});
    const wanted = [phase, providers, ...labels].join(' ');
    if (features.searchAttributes && published !== wanted) {
      published = wanted;
      upsertSearchAttributes([
        { key: clusterKey, value: name },
        { key: phaseKey, value: phase },
        { key: providerKey, value: providers },
        // Clusters without labels do not depend on an attribute that older servers lack.
        ...(labels.length > 0 || labelled
          ? [{ key: labelsKey, value: labels.length > 0 ? [...labels] : null }]
          : []),
      ]);
      labelled = labels.length > 0;
    }
    await conditionOf('search attributes', () => memory.changes !== seen);
  }
}

/** What a cluster consists of, for the memo of its workflow: a line for each group of nodes. */
function summariseSpec({ nodes, labels }: ClusterSpec): JsonObject {
  const groups = Object.entries(nodes).map(([name, { count, provider, hardware, image, services }]) => [
    name,
    `${count} × ${hardware} at ${provider}, image ${image}${services.length === 0 ? '' : `: ${services.join(', ')}`}`,
  ]);
  return { nodes: Object.fromEntries(groups), ...(labels === undefined ? {} : { labels }) };
}
