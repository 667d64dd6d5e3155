import type { WorkflowHandle } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packCluster } from '../../src/model/cluster/carry.js';
import { newGroup, type GroupStart } from '../../src/model/cluster/group.js';
import { defaultLimits } from '../../src/model/cluster/limits.js';
import { newCluster, type ClusterState } from '../../src/model/cluster/state.js';
import { groupQueue, groupWorkflowId, groupWorkflowType, workflowQueue } from '../../src/model/names.js';
import { until } from '../harness/until.js';
import type { Stack } from '../harness/stack.js';
import { cannotSkipTime, type SkippedTime, startWithSkippedTime } from '../harness/skipped-time.js';

describe.skipIf(cannotSkipTime)('a group of an earlier run, with time skipped', () => {
  let stack: Stack;
  let skip: SkippedTime['skip'];
  let stop: SkippedTime['stop'] | undefined;
  beforeAll(async () => {
    ({ stack, skip, stop } = await startWithSkippedTime());
  });
  afterAll(() => stop?.());

  it('that has ended is noticed within minutes, or as a run begins', async () => {
    const { workflow } = stack.client.temporal;
    const group = groupWorkflowId('split', '1');
    const run = (): Promise<WorkflowHandle> =>
      workflow.start('cluster', {
        workflowId: 'cluster/split',
        taskQueue: workflowQueue,
        args: [{ carried: packCluster(waitingForGroup) }],
      });
    const failed = async (): Promise<number | undefined> =>
      (await stack.client.summary('split')).groups?.[0]?.failed;

    // Another start of it: it ignores what is meant for the one that the cluster knows.
    const other: GroupStart = {
      cluster: 'split',
      clusterUid: 'of-split',
      group: '1',
      uid: 'other',
      operation: 'create',
      limits: defaultLimits,
    };
    const silent = await workflow.start(groupWorkflowType, {
      workflowId: group,
      taskQueue: groupQueue,
      args: [other],
    });
    const first = await run();
    await skip('6 minutes');
    expect(await failed()).toBe(0);
    await silent.terminate();
    await skip('5 minutes');
    await until('the cluster notices', async () => (await failed()) === 1);
    await first.terminate();

    const second = await run();
    await until('the cluster notices', async () => (await failed()) === 1);
    await second.terminate();
  });
});

/** A cluster whose only node is in a group that has not answered its first instructions. */
const waitingForGroup: ClusterState = {
  ...newCluster('split', 'of-split'),
  groups: { 1: { ...newGroup, uid: 'of-1', members: { app: [[1, 1]] }, sent: 1, quiet: false, over: false } },
};
