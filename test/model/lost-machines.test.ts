import { expect, it } from 'vitest';
import { newGroup, type NodeGroup } from '../../src/model/cluster/group.js';
import { holdsForRepairOnly } from '../../src/model/cluster/repair.js';
import type { ClusterState } from '../../src/model/cluster/state.js';
import type { FailureRecord, Loss } from '../../src/model/node/failure.js';
import type { Drift } from '../../src/model/node/drift.js';
import type { NodeState } from '../../src/model/node/state.js';
import type { Operation } from '../../src/model/cluster/operation.js';

const failure = (seen?: Loss['seen']): Partial<NodeState> => ({
  failure: {
    taskId: 't',
    action: 'INSTALL',
    kind: seen === undefined ? 'ScriptFailed' : 'MachineLost',
    message: '',
    at: '',
    ...(seen === undefined ? {} : { lost: { seen, why: '' } }),
  } satisfies FailureRecord,
});
const group = (failed: number, seen?: Drift): NodeGroup => ({
  ...newGroup,
  failed,
  rows: [
    {
      group: 'app',
      operation: '1',
      nodes: [[1, 2]],
      facts: { services: {}, ...(seen === undefined ? {} : { seen }) },
    },
  ],
});
const state = (
  nodes: readonly Partial<NodeState>[],
  groups: readonly NodeGroup[] = [],
  operation: Partial<Operation> = {},
): ClusterState =>
  ({
    nodes: Object.fromEntries(nodes.map((node, index) => [`app-${index}`, node])),
    groups: Object.fromEntries(groups.map((one, index) => [String(index), one])),
    operation: { kind: 'apply', ...operation },
  }) as unknown as ClusterState;

it.each([
  ['the only failed node lost a machine that repair replaces', true, state([failure('gone'), {}])],
  ['all failed nodes of a group did', true, state([], [group(2, 'gone')])],
  ['no node failed', false, state([{}])],
  ['the machine is only switched off', false, state([failure('stopped')])],
  ['another node failed for another reason', false, state([failure('gone'), failure()])],
  ['another node failed in a group', false, state([failure('gone')], [group(1)])],
  ['the operation does not repair machines', false, state([failure('gone')], [], { kind: 'restart' })],
  ['it was repaired three times', false, state([failure('gone')], [], { repairs: 3 })],
])('an operation is planned again instead of held: %s: %s', (_when, expected, given) => {
  expect(holdsForRepairOnly(given)).toBe(expected);
});
