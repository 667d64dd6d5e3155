import { expect, it } from 'vitest';
import type { GroupReport } from '../../src/model/cluster/group.js';
import { newGroup, nothingPending, type NodeGroup } from '../../src/model/cluster/group.js';
import { groupsOver } from '../../src/workflows/cluster/groups.js';
import type { Memory } from '../../src/workflows/cluster/memory.js';
import { applyReport } from '../../src/workflows/cluster/reports.js';
import { fullClusterState } from '../harness/workflows/filled-clusters.js';

const batchSlot = 'app/START';

const group: NodeGroup = { ...newGroup, uid: 'first', members: { app: [[3, 4]] }, sent: 4, seen: 4 };

function memoryOf(more: Partial<NodeGroup>): Memory {
  const coordination = {
    needed: { gate: 2 },
    passed: {},
    width: 1,
    batchSlots: { [batchSlot]: { holders: ['app-3'] } },
    asked: [],
  };
  const state = { ...fullClusterState(), nodes: {}, groups: { 1: { ...group, ...more } }, coordination };
  return { state, changes: 0, updates: 0, draining: false, sending: [], placing: 0, placingServices: 0 };
}

const report: GroupReport = {
  ...nothingPending,
  group: '1',
  groupUid: 'first',
  seq: 7,
  at: 5,
  seen: 6,
  incarnation: 90,
  peersVersion: 3,
  quiet: false,
  over: false,
  summary: { rows: [], members: {}, failed: 0, excluded: 0 },
  counts: { gate: 1 },
  tasks: { total: 0, done: 2, failed: 0 },
  leaves: [{ batchSlot, nodeId: 'app-3' }],
  asks: [{ batchSlot, nodeId: 'app-4' }],
};

const lost: Partial<NodeGroup> = { lost: true, quiet: true, over: true, failed: 2 };

it('a late report does not revive a lost group, and its results count', () => {
  const memory = memoryOf(lost);
  applyReport(memory, report);
  const { groups, coordination, incarnation } = memory.state;
  expect(groups['1']).toEqual({ ...group, ...lost, reported: [7, 5] });
  expect(groupsOver(memory)).toBe(true);
  expect(coordination).toMatchObject({
    passed: { gate: 1 },
    batchSlots: { [batchSlot]: { holders: [] } },
    asked: [],
  });
  expect(incarnation).toBe(90);
});

it('a batch slot that is released goes to no node of a lost group', () => {
  const memory = memoryOf(lost);
  const { groups, coordination } = memory.state;
  const asked = ['app-4', 'app-9'].map((nodeId) => ({ batchSlot, nodeId }));
  memory.state = {
    ...memory.state,
    groups: { ...groups, 2: { ...group, uid: 'second', members: { app: [[9, 9]] } } },
    ...(coordination === undefined ? {} : { coordination: { ...coordination, asked } }),
  };
  applyReport(memory, report);
  expect(memory.state.coordination?.batchSlots[batchSlot]?.holders).toEqual(['app-9']);
  expect(memory.state.groups['2']?.pending).toMatchObject([{ batchSlots: [{ nodeId: 'app-9' }] }]);
});

it('the same report of a group that is not lost tells what is under way there', () => {
  const memory = memoryOf({});
  applyReport(memory, report);
  expect(memory.state.groups['1']).toMatchObject({ seen: 6, sent: 6, over: false, peersVersion: 3 });
  expect(groupsOver(memory)).toBe(false);
  expect(memory.state.coordination?.batchSlots[batchSlot]?.holders).toEqual(['app-4']);
});
