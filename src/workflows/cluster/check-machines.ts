import { replacedDrifts } from '../../model/cluster/repair.js';
import type { Drift } from '../../model/node/drift.js';
import { queueOperation } from './accept.js';
import { groupsOver, instructAll } from './groups.js';
import { change } from '../entity.js';
import type { Memory } from './memory.js';
import { servicesOf } from '../../model/cluster/state.js';
import { probeNodes } from './probe-nodes.js';
import { condition } from '../inbox.js';

/** Looks at the machines between operations: for a preview, and from time to time where the spec says so. */
export function requestCheck(memory: Memory): number {
  const { checks } = memory.state;
  const number = checks.asked + 1;
  change(memory, { checks: { ...checks, asked: number } });
  return number;
}

/** A running operation changes the machines, so the check waits for its end. */
export function isCheckDue({ state }: Memory): boolean {
  return state.checks.asked > state.checks.done && state.operation?.state !== 'running';
}

export async function probeMachines(memory: Memory): Promise<void> {
  const { name, uid, checks, lease } = memory.state;
  // The holder of a node may have switched it off.
  if (lease !== undefined) {
    change(memory, { checks: { ...checks, done: checks.asked } });
    return;
  }
  const isHalted = (): boolean => memory.state.queue.length > 0;
  instructAll(memory, { do: 'probe' });
  await probeNodes({ memory, clusterId: name, uid, services: servicesOf(memory.state), isHalted });
  await condition(() => groupsOver(memory) || isHalted());
  change(memory, { checks: { ...memory.state.checks, done: checks.asked } });
}

/**
 * Queues an apply of the spec as it is when a machine is not as it should be and the policy is to do
 * something about it.
 */
export async function repairMachines(memory: Memory): Promise<void> {
  await probeMachines(memory);
  const { spec, operation, queue } = memory.state;
  if (spec === undefined || operation !== undefined || queue.length > 0) return;
  const seen = [...inlineDrifts(memory), ...groupDrifts(memory)];
  const replaced = replacedDrifts(spec);
  const isRepaired = (drift: Drift): boolean =>
    spec.repair[drift] === 'replace' ? replaced.includes(drift) : spec.repair[drift] !== 'nothing';
  if (!seen.some(isRepaired)) return;
  queueOperation(memory, { intent: { kind: 'apply' }, by: 'repair (periodic check)', spec, cause: 'repair' });
}

function inlineDrifts({ state }: Memory): readonly Drift[] {
  return Object.values(state.nodes).flatMap(({ facts }) => facts.seen ?? []);
}

function groupDrifts({ state }: Memory): readonly Drift[] {
  return Object.values(state.groups).flatMap(({ rows }) => rows.flatMap(({ facts }) => facts.seen ?? []));
}
