import type { GroupReport, BatchSlotRef, NodeGroup } from '../../model/cluster/group.js';
import { isRepeated, lastTaken } from '../../model/cluster/numbered.js';
import { touchPeers } from '../../model/node/peers.js';
import { requestBatchSlot, clusterExecutor, releaseBatchSlotOf, nodeFailed } from './cluster-executor.js';
import { ignore } from '../taken-messages.js';
import { catchUp, changeGroup } from './groups.js';
import { clusterMessages } from '../messages.js';
import { countTasks, noteAbandoned, type Memory } from './memory.js';
import { change } from '../entity.js';

/** Applies a group's report: gate counts, batch slots, failures and progress. */
export function applyReport(memory: Memory, report: GroupReport): void {
  const { group, seen, incarnation } = report;
  const known = memory.state.groups[group];
  if (known === undefined) return;
  if (report.groupUid !== known.uid || isRepeated(report, known.reported)) {
    ignore(
      clusterMessages.signals.report.name,
      `this report of group ${group} was received before, or belongs to another start of it`,
    );
    return;
  }
  const { peers } = memory.state;
  change(memory, {
    incarnation: Math.max(memory.state.incarnation, incarnation),
    ...(report.announced.length === 0
      ? {}
      : {
          peers: touchPeers(
            peers,
            report.announced.filter((name) => name !== '*'),
          ),
        }),
  });
  // A report can arrive after the end of its group: it then counts results but not progress.
  const isLost = known.lost === true;
  const isAhead = !isLost && seen > known.sent;
  changeGroup(memory, group, {
    reported: lastTaken(report, known.reported),
    ...(isLost ? {} : progressOf(report, known)),
  });
  countTasks(memory, report.tasks);
  noteAbandoned(memory, report.abandoned);
  takeCounts(memory, report.counts);
  for (const { failure, group: specGroup, remaining } of report.failures)
    nodeFailed(memory, specGroup, failure, remaining);
  updateBatchSlots(memory, report.leaves, isLost ? [] : report.asks);
  if (isAhead) catchUp(memory, group);
}

function progressOf(
  { seen, quiet, over, peersVersion, summary }: GroupReport,
  { sent }: NodeGroup,
): Partial<NodeGroup> {
  return {
    seen,
    quiet,
    over,
    peersVersion,
    ...(seen > sent ? { sent: seen } : {}),
    ...(summary === undefined || seen !== sent
      ? {}
      : { outputNodes: undefined, unread: undefined, ...summary }),
  };
}

function takeCounts(memory: Memory, counts: GroupReport['counts']): void {
  const executor = clusterExecutor(memory);
  for (const [gate, by] of Object.entries(counts)) {
    for (let count = 0; count < by; count += 1) executor.count(gate);
  }
}

function updateBatchSlots(
  memory: Memory,
  leaves: readonly BatchSlotRef[],
  asks: readonly BatchSlotRef[],
): void {
  for (const { batchSlot, nodeId } of leaves) releaseBatchSlotOf(memory, batchSlot, nodeId);
  for (const { batchSlot, nodeId } of asks) requestBatchSlot(memory, batchSlot, nodeId);
}
