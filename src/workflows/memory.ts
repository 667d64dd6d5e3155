import { setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { searchAttributes } from '../model/names.js';
import type { NodeState } from '../model/node.js';
import type { Operation } from '../model/operation.js';
import { touchPeers } from '../model/peers.js';
import { detailsOf, phaseOf } from '../model/report.js';
import type { ClusterState } from '../model/state.js';

/** The one place that holds a cluster's state while a run of its workflow lives. The state itself is never mutated. */
export interface Memory {
  state: ClusterState;
  /** Set once delete was asked for: nothing new is started for the operation under way. */
  preempted: boolean;
  /** The search attributes that the server was told last. */
  shown?: string;
}

export function changeNode(memory: Memory, nodeId: string, change: (node: NodeState) => NodeState): void {
  const node = memory.state.nodes[nodeId];
  if (node === undefined) return;
  memory.state = { ...memory.state, nodes: { ...memory.state.nodes, [nodeId]: change(node) } };
}

export function changeOperation(memory: Memory, change: Partial<Operation>): void {
  if (memory.state.operation === undefined) return;
  memory.state = { ...memory.state, operation: { ...memory.state.operation, ...change } };
}

export function countTasks(memory: Memory, change: Partial<Operation['tasks']>): void {
  const tasks = memory.state.operation?.tasks ?? { total: 0, done: 0, failed: 0 };
  changeOperation(memory, { tasks: { ...tasks, ...change } });
}

/** Notes that a node joined, changed its services, or got another address; its peers see it from this version on. */
export function announceNode(memory: Memory, nodeId: string): void {
  const node = memory.state.nodes[nodeId];
  if (node === undefined) return;
  const peers = touchPeers(memory.state.peers, node.services);
  const { [nodeId]: _back, ...gone } = peers.gone;
  memory.state = { ...memory.state, peers: { ...peers, gone } };
  changeNode(memory, nodeId, (before) => ({ ...before, changedAt: peers.version }));
}

/** Hides a node that is on its way out from its peers. */
export function retireNode(memory: Memory, nodeId: string): void {
  const node = memory.state.nodes[nodeId];
  if (node === undefined || node.leaving === true) return;
  const peers = touchPeers(memory.state.peers, [...node.services, ...Object.keys(node.facts.services)]);
  memory.state = { ...memory.state, peers: { ...peers, gone: { ...peers.gone, [nodeId]: peers.version } } };
  changeNode(memory, nodeId, (before) => ({ ...before, leaving: true, changedAt: peers.version }));
}

export function dropNode(memory: Memory, nodeId: string): void {
  const { [nodeId]: _gone, ...nodes } = memory.state.nodes;
  memory.state = { ...memory.state, nodes };
}

const clusterKey = defineSearchAttributeKey(searchAttributes.cluster, SearchAttributeType.KEYWORD);
const providerKey = defineSearchAttributeKey(searchAttributes.provider, SearchAttributeType.KEYWORD);
const phaseKey = defineSearchAttributeKey(searchAttributes.phase, SearchAttributeType.KEYWORD);

/** Brings what the Web UI shows up to date: the table of nodes, and the search attributes when the phase changed. */
export function show(memory: Memory): void {
  setCurrentDetails(detailsOf(memory.state));
  const phase = phaseOf(memory.state);
  const providers = [...new Set(Object.values(memory.state.spec?.groups ?? {}).map((group) => group.provider))].toSorted().join(',');
  const shown = `${phase} ${providers}`;
  if (memory.shown === shown || !memory.state.features.searchAttributes) return;
  memory.shown = shown;
  upsertSearchAttributes([
    { key: clusterKey, value: memory.state.name }, { key: phaseKey, value: phase }, { key: providerKey, value: providers },
  ]);
}
