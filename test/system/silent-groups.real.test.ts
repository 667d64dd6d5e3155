import type { WorkflowHandle } from '@temporalio/client';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { shareServerTime } from '../../src/client/server-clock.js';
import { packCluster } from '../../src/model/cluster/carry.js';
import { newGroup, type GroupStart } from '../../src/model/cluster/group.js';
import { defaultLimits } from '../../src/model/cluster/limits.js';
import type { ClusterState } from '../../src/model/cluster/state.js';
import { groupQueue, groupWorkflowId, groupWorkflowType, workflowQueue } from '../../src/model/names.js';
import { noPeers } from '../../src/model/node/peers.js';
import { until } from '../harness/until.js';
import { type Stack, startStack } from '../harness/stack.js';
import { findTimeSkipping, startTimeSkipping } from '../harness/time-skipping.js';

const program = await findTimeSkipping();
const why = program === undefined ? ' (left out: "npm run setup:extras" installs the server)' : '';

describe.skipIf(program === undefined)(`a group of an earlier run, with time skipped${why}`, () => {
  let time: TestWorkflowEnvironment;
  let stack: Stack;
  let now: number | undefined;
  beforeAll(async () => {
    time = await startTimeSkipping(program);
    stack = await startStack({
      temporalAddress: time.address,
      distPath: inject('distPath'),
      namespace: 'default',
    });
    await stack.startWorker();
    // This server does not show its clock.
    shareServerTime(stack.client.temporal.connection, () => now);
  });
  async function skip(duration: Parameters<TestWorkflowEnvironment['sleep']>[0]): Promise<void> {
    await time.sleep(duration);
    now = await time.currentTimeMs();
  }
  afterAll(async () => {
    await stack?.stop();
    await time.teardown();
  });

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
  name: 'split',
  uid: 'of-split',
  stopped: [],
  retired: {},
  nodes: {},
  peers: noPeers,
  queue: [],
  revisions: [],
  scaled: {},
  achievedCounts: {},
  history: [],
  checks: { asked: 0, done: 0 },
  incarnation: 1,
  counters: { operation: 1, nodenum: 1, group: 1, revision: 1 },
  groups: { 1: { ...newGroup, uid: 'of-1', members: { app: [[1, 1]] }, sent: 1, quiet: false, over: false } },
  features: { searchAttributes: false },
  limits: defaultLimits,
};
