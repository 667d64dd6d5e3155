import { setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { searchAttributes } from '../../model/names.js';
import type { NodeState } from '../../model/node.js';
import type { Operation } from '../../model/operation.js';
import { touchPeers } from '../../model/peers.js';
import { detailsOf, phaseOf } from '../../model/report.js';
import type { ClusterState, Halt, PeersState } from '../../model/state.js';
import type { CrewState } from '../../model/work.js';

/** Holds the nodes that a workflow carries while one run of it lives. The state itself is never mutated. */
export interface CrewMemory {
  state: CrewState & { readonly peers: PeersState };
}

/** The one place that holds a cluster's state while a run of its workflow lives. */
export interface Memory extends CrewMemory {
  state: ClusterState;
  /** Set once the operation under way is to end early: nothing new is started for it. */
  halt?: Halt;
  /** This run ends: nothing more is sent, for a message sent together with a continue-as-new is lost. */
  closing?: true;
  /** Groups that a message is on its way to. */
  sending: readonly string[];
  /** Nodes that the plan being taken over adds to this workflow. */
  placing: number;
  /** What people see is older than the state. */
  stale: boolean;
  /** A workflow can be cancelled from outside once in each run, so the next rest begins a new one. */
  renew?: true;
  /** The operation for which whoever has the lent node was asked last. */
  askedFor?: string;
  /** The search attributes that the server was told last. */
  shown?: string;
}

export function changeNode(memory: CrewMemory, nodeId: string, change: (node: NodeState) => NodeState): void {
  const node = memory.state.nodes[nodeId];
  if (node === undefined) return;
  memory.state = { ...memory.state, nodes: { ...memory.state.nodes, [nodeId]: change(node) } };
}

export function changeNodes(memory: CrewMemory, change: (node: NodeState) => NodeState): void {
  const nodes = Object.fromEntries(
    Object.entries(memory.state.nodes).map(([id, node]) => [id, change(node)]),
  );
  memory.state = { ...memory.state, nodes };
}

export function dropNode(memory: CrewMemory, nodeId: string): void {
  const { [nodeId]: _gone, ...nodes } = memory.state.nodes;
  memory.state = { ...memory.state, nodes };
}

/**
 * Notes that a node joined, changed its services, or got another address; its peers see it from this version
 * on.
 */
export function announceNode(memory: CrewMemory, nodeId: string): void {
  const node = memory.state.nodes[nodeId];
  if (node === undefined) return;
  const peers = touchPeers(memory.state.peers, node.services);
  const { [nodeId]: _back, ...gone } = peers.gone;
  memory.state = { ...memory.state, peers: { ...peers, gone } };
  changeNode(memory, nodeId, (before) => ({ ...before, changedAt: peers.version }));
}

/** Hides a node from its peers: it is on its way out, or the operation goes on without it. */
export function hideNode(memory: CrewMemory, nodeId: string, why: 'leaving' | 'aside'): void {
  const node = memory.state.nodes[nodeId];
  if (node === undefined || node[why] === true) return;
  const peers = touchPeers(memory.state.peers, [...node.services, ...Object.keys(node.facts.services)]);
  memory.state = { ...memory.state, peers: { ...peers, gone: { ...peers.gone, [nodeId]: peers.version } } };
  changeNode(memory, nodeId, (before) => ({ ...before, [why]: true, changedAt: peers.version }));
}

/** Makes a node that was hidden a peer again. */
export function showNode(memory: CrewMemory, nodeId: string): void {
  const node = memory.state.nodes[nodeId];
  if (node === undefined || (node.leaving !== true && node.aside !== true)) return;
  changeNode(memory, nodeId, ({ leaving: _leaving, aside: _aside, ...rest }) => rest);
  announceNode(memory, nodeId);
}

export function changeOperation(memory: Memory, change: Partial<Operation>): void {
  if (memory.state.operation === undefined) return;
  memory.state = { ...memory.state, operation: { ...memory.state.operation, ...change } };
  memory.stale = true;
}

export function countTasks(memory: Memory, change: Partial<Operation['tasks']>): void {
  const tasks = memory.state.operation?.tasks ?? { total: 0, done: 0, failed: 0 };
  changeOperation(memory, {
    tasks: {
      total: tasks.total + (change.total ?? 0),
      done: tasks.done + (change.done ?? 0),
      failed: tasks.failed + (change.failed ?? 0),
    },
  });
}

const clusterKey = defineSearchAttributeKey(searchAttributes.cluster, SearchAttributeType.KEYWORD);
const providerKey = defineSearchAttributeKey(searchAttributes.provider, SearchAttributeType.KEYWORD);
const phaseKey = defineSearchAttributeKey(searchAttributes.phase, SearchAttributeType.KEYWORD);

/**
 * Brings what the Web UI shows up to date: the table of nodes, and the search attributes when the phase
 * changed.
 */
export function show(memory: Memory): void {
  memory.stale = false;
  setCurrentDetails(detailsOf(memory.state));
  const phase = phaseOf(memory.state);
  const providers = [
    ...new Set(Object.values(memory.state.spec?.groups ?? {}).map((group) => group.provider)),
  ]
    .toSorted()
    .join(',');
  const shown = `${phase} ${providers}`;
  if (memory.shown === shown || !memory.state.features.searchAttributes) return;
  memory.shown = shown;
  upsertSearchAttributes([
    { key: clusterKey, value: memory.state.name },
    { key: phaseKey, value: phase },
    { key: providerKey, value: providers },
  ]);
}

export function now(): string {
  return new Date(Date.now()).toISOString();
}
