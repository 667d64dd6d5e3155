import { payloadBounds } from '../../model/node/room.js';
import { clusterWorkflowId } from '../../model/names.js';
import {
  failureOf,
  type GroupReport,
  type GroupState,
  type Instructions,
  type Members,
  type Pending,
  addMember,
} from '../../model/cluster/group.js';
import { firstWithin } from '../../model/carried.js';
import { mostOutputBytes, outputNodes } from '../../model/cluster/output-nodes.js';
import type { NodeState } from '../../model/node/state.js';
import { rowsOf } from '../../model/plan/facts/summarise.js';
import { highestIncarnation } from '../../model/cluster/work.js';
import { change, type EntityMemory } from '../entity.js';
import type { Executor, Run } from './executor.js';
import type { NodesMemory } from './memory.js';

/** Holds a group's state during one run of its workflow. */
export interface GroupMemory extends NodesMemory, EntityMemory {
  state: GroupState;
  inbox: Instructions[];
  run?: Run;
  /** Something is to be reported to the cluster. */
  unreported?: boolean;
  sending?: boolean;
  /** This run ends: nothing more is sent, for a message sent together with a continue-as-new is lost. */
  closing?: boolean;
  ended: boolean;
}

/** The nodes of a group: gates and batch slots belong to the cluster and arrive by message. */
export function groupExecutor(memory: GroupMemory): Executor {
  return {
    memory,
    inFlight: memory.state.limits.inFlight,
    payloadBound: payloadBounds.group,
    isOpen: (gate) => memory.state.opened.includes(gate),
    count: (gate) =>
      note(memory, ({ counts }) => ({ counts: { ...counts, [gate]: (counts[gate] ?? 0) + 1 } })),
    requestBatchSlot: (batchSlot, nodeId) => {
      if (!holds(memory, batchSlot, nodeId))
        note(memory, ({ asks }) => ({ asks: [...asks, { batchSlot, nodeId }] }));
    },
    holdsBatchSlot: (batchSlot, nodeId) => holds(memory, batchSlot, nodeId),
    releaseBatchSlot: (batchSlot, nodeId) => {
      change(memory, {
        batchSlots: memory.state.batchSlots.filter(
          (held) => held.batchSlot !== batchSlot || held.nodeId !== nodeId,
        ),
      });
      note(memory, ({ leaves }) => ({ leaves: [...leaves, { batchSlot, nodeId }] }));
    },
    paused: () => memory.state.paused,
    tasks: (added) =>
      note(memory, ({ tasks }) => ({
        tasks: {
          total: tasks.total + (added.total ?? 0),
          done: tasks.done + (added.done ?? 0),
          failed: tasks.failed + (added.failed ?? 0),
        },
      })),
    failed: (node, failure, remaining) =>
      note(memory, ({ failures }) => ({
        failures: [
          ...failures,
          {
            failure: failureOf(node.nodeId, failure),
            group: node.group,
            remaining: remaining.map(({ counts, batchSlot }) => ({ counts, batchSlot })),
          },
        ],
      })),
    announced: (services) =>
      note(memory, ({ announced }) => ({ announced: [...new Set([...announced, '*', ...services])] })),
    service: (name) => memory.state.services[name],
    taskBase: () => {
      const { cluster, clusterUid, config, peersVersion, command, variables } = memory.state;
      return {
        clusterId: cluster,
        clusterUid,
        cluster: config,
        peersOf: clusterWorkflowId(cluster),
        peersVersion,
        command,
        variables,
      };
    },
    abandoned: (machine) => note(memory, ({ abandoned }) => ({ abandoned: [...abandoned, machine] })),
  };
}

function holds({ state }: GroupMemory, batchSlot: string, nodeId: string): boolean {
  return state.batchSlots.some((held) => held.batchSlot === batchSlot && held.nodeId === nodeId);
}

function note(memory: GroupMemory, to: (report: Pending) => Partial<Pending>): void {
  change(memory, { report: { ...memory.state.report, ...to(memory.state.report) } });
  memory.unreported = true;
}

/** What failures of one report may have, in bytes of JSON. */
const mostFailures = 400_000;

/** What is to be reported to the cluster now, and failures that are left for the next report. */
export function reportOf(memory: GroupMemory): {
  readonly report: Omit<GroupReport, 'at'>;
  readonly left: GroupReport['failures'];
} {
  const { state } = memory;
  const failures = firstWithin(state.report.failures, mostFailures);
  const left = state.report.failures.slice(failures.length);
  // The cluster judges a group that is over by its failures.
  const { over, quiet } = left.length > 0 ? { over: false, quiet: false } : progressOf(memory);
  const report = {
    ...state.report,
    groupUid: state.uid,
    seq: state.reports + 1,
    failures,
    group: state.group,
    seen: state.seen,
    incarnation: highestIncarnation(state),
    peersVersion: state.peers.version,
    quiet,
    over,
    ...(over ? { summary: summaryOf(state) } : {}),
  };
  return { report, left };
}

/**
 * Progress that the cluster waits for besides counts: all chains have ended, or none can continue by itself.
 */
export function progressOf({ run, draining }: GroupMemory): {
  readonly over: boolean;
  readonly quiet: boolean;
} {
  // Its chains stop only to continue in a new run.
  if (draining) return { over: false, quiet: false };
  return { over: run?.over() ?? true, quiet: run?.quiet() ?? true };
}

function summaryOf(state: GroupState): NonNullable<GroupReport['summary']> {
  const nodes = Object.values(state.nodes);
  const failed = nodes.filter(({ failure }) => failure !== undefined);
  const excluded = failed.filter((node) => node.excluded !== undefined).length;
  const read = outputNodes(state.nodes, state.references ?? [], mostOutputBytes);
  return {
    rows: rowsOf(nodes, state.operation),
    ...(Object.keys(read).length === 0 ? {} : { outputNodes: read }),
    members: membersOf(nodes),
    failed: failed.length - excluded,
    excluded,
  };
}

function membersOf(nodes: readonly NodeState[]): Members {
  return nodes.reduce<Members>(
    (members, { nodeId, group }) => addMember(members, group, Number(nodeId.slice(group.length + 1))),
    {},
  );
}
