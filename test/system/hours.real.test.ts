import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { WithStartWorkflowOperation, type WorkflowHandle } from '@temporalio/client';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { shareServerTime } from '../../src/client/server-clock.js';
import { sendContent } from '../../src/client/artifact/content.js';
import { packCluster } from '../../src/model/cluster/carry.js';
import { newGroup, type GroupStart } from '../../src/model/cluster/group.js';
import { defaultLimits } from '../../src/model/cluster/limits.js';
import type { ClusterState } from '../../src/model/cluster/state.js';
import {
  artifactPartWorkflowId,
  groupQueue,
  groupWorkflowId,
  groupWorkflowType,
  workflowQueue,
} from '../../src/model/names.js';
import { noPeers } from '../../src/model/node/peers.js';
import { until } from '../harness/until.js';
import { type Stack, startStack } from '../harness/stack.js';
import { closed, nodes } from '../harness/workflows/spec.js';
import { newFolder } from '../harness/folder.js';

const tools = join(import.meta.dirname, '..', '..', 'tools');

/** Fetching the time-skipping server takes minutes, so a test run only uses what is there. */
async function findTimeSkipping(): Promise<string | undefined> {
  const environment = pathToFileURL(join(tools, 'environment.mjs')).href;
  const cache = tell(
    '--input-type=module',
    '--eval',
    `process.stdout.write((await import(${JSON.stringify(environment)})).cacheFolder())`,
  );
  const folder = join(cache ?? '', 'temporal-test-server');
  const isFetched =
    cache !== undefined &&
    existsSync(folder) &&
    (await readdir(folder, { recursive: true })).some((file) => file.endsWith('/temporal-test-server'));
  return isFetched ? tell(join(tools, 'get-time-skipping.mjs')) : undefined;
}

/** What a program of Node prints; undefined when it fails, as it does without Java. */
function tell(...words: readonly string[]): string | undefined {
  const { status, stdout } = spawnSync(process.execPath, [...words], { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}

const program = await findTimeSkipping();
const why = program === undefined ? ' (left out: "npm run setup:extras" installs the server)' : '';

describe.skipIf(program === undefined)(`long periods, with time skipped${why}`, () => {
  let folder: string;
  let time: TestWorkflowEnvironment;
  let stack: Stack;
  let now: number | undefined;
  beforeAll(async () => {
    folder = newFolder();
    await writeSlowProvider(folder);
    time = await startTimeSkipping();
    stack = await startStack({
      temporalAddress: time.address,
      distPath: inject('distPath'),
      namespace: 'default',
      accounts: { slow: { type: 'slow' } },
      config: { plugins: [folder] },
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

  /** The SDK waits five seconds for the server, which a busy machine takes longer to start. */
  async function startTimeSkipping(attempts = 5): Promise<TestWorkflowEnvironment> {
    try {
      return await TestWorkflowEnvironment.createTimeSkipping({
        server: { executable: { type: 'existing-path', path: program ?? '' } },
      });
    } catch (error) {
      if (attempts === 1 || !String(error).includes('did not start within')) throw error;
      return startTimeSkipping(attempts - 1);
    }
  }

  it('a part of a resource that is not claimed ends after an hour; a claimed one stays', async () => {
    const { client } = stack;
    const { digest } = await client.resources.put('kept', { format: 'file', bytes: Buffer.from('kept') });
    const half = await sendContent(client.temporal, {
      format: 'file',
      bytes: Buffer.from('half'),
      label: 'half',
    });
    const unclaimed = client.temporal.workflow.getHandle(artifactPartWorkflowId(half.digest, 0));
    await skip('61 minutes');
    await until('the part to end', async () => (await unclaimed.describe()).status.name === 'COMPLETED');
    expect(
      (await client.temporal.workflow.getHandle(artifactPartWorkflowId(digest, 0)).describe()).status.name,
    ).toBe('RUNNING');
  });

  it('a cluster whose first request was refused ends after half a minute', async () => {
    const { workflow } = stack.client.temporal;
    const startWorkflowOperation = new WithStartWorkflowOperation('cluster', {
      workflowId: 'cluster/unwanted',
      taskQueue: 'heddle',
      args: [{ heddle: { uid: 'u' } }],
      workflowIdConflictPolicy: 'FAIL',
    });
    const request = workflow.executeUpdateWithStart('apply', {
      args: [{ by: 'me' }],
      startWorkflowOperation,
    });
    await expect(request).rejects.toMatchObject({
      cause: { message: expect.stringContaining('spec: is missing') },
    });
    const handle = workflow.getHandle('cluster/unwanted');
    await skip('29 seconds');
    expect((await handle.describe()).status.name).toBe('RUNNING');
    await skip('2 seconds');
    expect(await handle.result()).toBe('this cluster received no request');
  });

  it('CONFIRM tries for ten minutes, then the machine is replaced; after the third the operation is held with the last reason', async () => {
    const { client } = stack;
    const began = await time.currentTimeMs();
    const { operation } = await client.apply(
      closed({ name: 'slow', nodes: { app: nodes(1, [], { provider: 'slow' }) } }),
    );
    let status = await client.status('slow');
    while (status.operation?.state !== 'held') {
      await skip('20 seconds');
      status = await client.status('slow');
    }
    expect(status.operation).toMatchObject({ id: operation, tasks: { failed: 3 } });
    expect(status.operation.reason).toMatch(/^CONFIRM of app-1 failed: .*the machine boots$/);
    expect(status.nodes).toMatchObject([{ incarnation: 3, state: 'failed' }]);
    const minutes = ((await time.currentTimeMs()) - began) / 60_000;
    expect(minutes).toBeGreaterThan(26);
    const { operation: deletion = '' } = await client.delete('slow');
    expect((await client.waitFor('slow', deletion, { everyMs: 100 })).operation.state).toBe('done');
  });

  it('a run notices that a group of an earlier run has ended: within minutes, or as it begins', async () => {
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

/** A provider whose machines never come, and that is asked about them once a minute. */
async function writeSlowProvider(folder: string): Promise<void> {
  const plugin = join(folder, 'providers', 'slow');
  await mkdir(plugin, { recursive: true });
  await writeFile(
    join(plugin, 'slow.json'),
    JSON.stringify({
      name: 'slow',
      type: 'provider',
      entry: './slow.mjs',
      class: 'Slow',
      version: '1.0.0',
      description: 'Never ready',
      idempotency: 'token',
    }),
  );
  await writeFile(
    join(plugin, 'slow.mjs'),
    `
    import { PluginError } from ${JSON.stringify(join(inject('distPath'), 'plugins', 'errors.js'))};
    export class Slow {
      async create({ key }) { return { result: { providerid: key } }; }
      async confirm() { throw new PluginError('NotReady', 'the machine boots', { retryAfterMs: 60_000 }); }
      async delete() {}
    }
  `,
  );
}
