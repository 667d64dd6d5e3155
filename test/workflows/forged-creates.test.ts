import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { PoolClient } from '../../src/client/pool/pool-client.js';
import { writeLagCloud } from '../harness/chaos/lag-cloud.js';
import { openGround } from '../harness/machine/ground.js';
import { type Stack, startStack, type WorkerProcess } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { type Ledger, onceEach, openLedger } from '../harness/workflows/ledger.js';
import { closed, nodes } from '../harness/workflows/spec.js';
import { newFolder } from '../harness/folder.js';

let folder: string;
let stack: Stack;
let ledger: Ledger;
let worker: WorkerProcess;
beforeAll(async () => {
  folder = newFolder();
  ledger = openLedger(folder);
  const accounts: Record<string, object> = {};
  stack = await startStack({ config: { plugins: [await writeMuteCloud()] }, accounts });
  const { endpoint, apiKeyFile } = stack.service;
  accounts['hasty'] = { type: 'hasty', fields: { endpoint, apiKey: { secret: `file:${apiKeyFile}` } } };
  worker = await stack.startWorker();
});

/**
 * Provider `hasty` cannot be asked for a machine: it neither finds nor lists any. It reports once that
 * it is not ready for machines of cluster `later`, and writes down each reset of a machine's power.
 */
async function writeMuteCloud(): Promise<string> {
  const plugins = await writeLagCloud(folder, ['hasty']);
  const file = join(plugins, 'providers', 'hasty', 'hasty.json');
  const descriptor = JSON.parse(await readFile(file, 'utf8')) as object;
  await writeFile(file, JSON.stringify({ ...descriptor, idempotency: 'none', callDeadlineMs: 20_000 }));
  const code = join(plugins, 'providers', 'hasty', 'cloud.mjs');
  const source = await readFile(code, 'utf8');
  const more = `
  async powerStatus() { return { power: 'on' }; }
  async powerReset() {
    const { appendFile } = await import('node:fs/promises');
    await appendFile('${join(folder, 'resets')}', 'reset\\n');
    await new Promise((resolve) => setTimeout(resolve, 5000));
    return { answer: 'done' };
  }
  async ready(hostname) {
    if (!hostname.startsWith('later-')) return;
    const { access, writeFile } = await import('node:fs/promises');
    const asked = '${folder}/' + hostname;
    if (await access(asked).then(() => true, () => false)) return;
    await writeFile(asked, '');
    throw failure('NotReady', 'it makes no machines yet', 300);
  }`;
  await writeFile(
    code,
    source
      .replace('async find(', 'async unknownTo(')
      .replace('async list(', 'async unlisted(')
      .replaceAll('(await this.find(key))', '[]')
      .replace(`    const { body } = await this.call('POST'`, `    await this.ready(hostname);\n$&`)
      .replace('async call(', `${more}\n\n  async call(`),
  );
  return plugins;
}

const api = () => stack.client.temporal.workflowService;
const handleOf = (workflowId: string) => stack.client.temporal.workflow.getHandle(workflowId);
const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function apply(name: string, provider = 'hasty'): Promise<string> {
  const install = ledger.script({ gate: name, action: { attempts: 3 } });
  const spec = closed({
    name,
    nodes: { app: nodes(1, ['app'], { provider }) },
    services: { app: { actions: { install } } },
  });
  return (await stack.client.apply(spec)).operation;
}

async function endOf(name: string, operation: string) {
  const { operation: ended, status } = await stack.client.waitFor(name, operation, { everyMs: 100 });
  return { state: ended.state, failure: status.nodes[0]?.failure };
}

async function pendingOf(workflowId: string, action: string) {
  const { raw } = await handleOf(workflowId).describe();
  return raw.pendingActivities?.find(({ activityType }) => activityType?.name === action);
}

async function idOf(workflowId: string, action: string): Promise<string> {
  return (await pendingOf(workflowId, action))?.activityId ?? '';
}

async function fail(workflowId: string, action: string): Promise<void> {
  await api().respondActivityTaskFailedById({
    namespace: stack.namespace,
    workflowId,
    activityId: await idOf(workflowId, action),
    failure: { message: 'no', applicationFailureInfo: { type: 'Retryable', nonRetryable: false } },
  });
}

async function update(
  workflowId: string,
  action: string,
  activityOptions: object,
  path: string,
): Promise<void> {
  await api().updateActivityOptions({
    namespace: stack.namespace,
    execution: { workflowId },
    id: await idOf(workflowId, action),
    activityOptions,
    updateMask: { paths: [path] },
  });
}

const elsewhere = (name: string): readonly [object, string] => [{ taskQueue: { name } }, 'task_queue.name'];

const creates = async (hostname: string) =>
  (await stack.service.journal('create')).filter((entry) => String(entry['hostname']).startsWith(hostname));

const hold = (hostname: string): Promise<string> =>
  stack.service.arm({ fault: 'hold-answer', operation: 'create', hostname, count: 99 });

async function untilSent(hostname: string): Promise<void> {
  await until('CREATE is accepted', async () => (await creates(hostname)).length === 1);
}

const unknownMachine = (hostname: string, command: string) => ({
  kind: 'UnknownOutcome',
  message: expect.stringMatching(
    new RegExp(
      `rovider hasty.*Look there for a machine named ${hostname}, delete it if there is one, then: ${command}`,
    ),
  ),
});

describe('CREATE at a provider that cannot be asked for the machine', () => {
  // Promise: create-sent-once
  it.concurrent('is not sent again after a reset of its workflow', async () => {
    await ledger.open('again');
    const fault = await hold('again-app-1');
    const operation = await apply('again');
    await untilSent('again-app-1');
    const { events } = await handleOf('cluster/again').fetchHistory();
    await api().resetWorkflowExecution({
      namespace: stack.namespace,
      workflowExecution: {
        workflowId: 'cluster/again',
        runId: (await handleOf('cluster/again').describe()).runId,
      },
      reason: 'no keys',
      requestId: randomUUID(),
      workflowTaskFinishEventId: events?.findLast((event) => event.workflowTaskCompletedEventAttributes)
        ?.eventId,
    });
    const held = { state: 'held', failure: unknownMachine('again-app-1', 'heddle retry again') };
    expect(await endOf('again', operation)).toMatchObject(held);
    // Whether the person's clock is ahead is not known.
    await stack.client.retry('again');
    expect(await endOf('again', operation)).toMatchObject(held);
    await stack.service.release(fault);
    expect(await creates('again-app-1')).toHaveLength(1);
  });

  // Promise: create-sent-once
  it.concurrent('is not sent again if its task was moved, until a person has looked for the machine', async () => {
    await ledger.open('look');
    const fault = await hold('look-app-1');
    const operation = await apply('look');
    await untilSent('look-app-1');
    await update('cluster/look', 'CREATE', ...elsewhere('heddle/core'));
    await fail('cluster/look', 'CREATE');
    expect(await endOf('look', operation)).toMatchObject({
      state: 'held',
      failure: unknownMachine('look-app-1', 'heddle retry look'),
    });
    expect(await creates('look-app-1')).toHaveLength(1);
    await stack.service.release(fault);
    await stack.client.retry('look');
    expect(await endOf('look', operation)).toMatchObject({ state: 'done' });
    expect(await creates('look-app-1')).toHaveLength(2);
  });

  it.concurrent('is sent by another task if the first one did not send it', async () => {
    await ledger.open('later');
    const operation = await apply('later');
    expect(await endOf('later', operation)).toMatchObject({ state: 'done' });
    const { events = [] } = await handleOf('cluster/later').fetchHistory();
    const types = events?.map((event) => event.activityTaskScheduledEventAttributes?.activityType?.name);
    expect(types?.filter((type) => type === 'CREATE')).toHaveLength(2);
    expect(await creates('later-app-1')).toHaveLength(1);
  });

  it.concurrent('is sent by a retry without further questions if the provider had refused it', async () => {
    await ledger.open('full');
    const fault = await stack.service.arm({ fault: 'no-capacity', hostname: 'full-app-1', count: 3 });
    const operation = await apply('full');
    expect(await endOf('full', operation)).toMatchObject({ state: 'held', failure: { kind: 'Capacity' } });
    await stack.service.release(fault);
    await stack.client.retry('full');
    expect(await endOf('full', operation)).toMatchObject({ state: 'done' });
  });

  it.concurrent('holds the deletion of its cluster until a person has looked for the machine', async () => {
    await stack.service.arm({ fault: 'lose-answer', operation: 'create', hostname: 'gone-app-1' });
    const operation = await apply('gone');
    const failure = unknownMachine('gone-app-1', 'heddle retry gone');
    expect(await endOf('gone', operation)).toMatchObject({ state: 'held', failure });
    const { operation: deletion = '' } = await stack.client.delete('gone');
    expect(await endOf('gone', deletion)).toMatchObject({
      state: 'held',
      failure: { action: 'DELETE', ...failure },
    });
    await stack.client.retry('gone');
    expect((await stack.client.waitFor('gone', deletion, { everyMs: 100 })).operation.state).toBe('done');
  });
});

async function openPool(name: string): Promise<PoolClient> {
  const client = new PoolClient(stack.client.temporal, name, { by: 'test' });
  const offer = { hardware: 'tiny', image: 'host', fields: {}, uses: { nodes: 1 }, launchWithin: 12 };
  await client.apply({
    name,
    tenants: {},
    labels: { a: { minReady: 0, spareAge: 600, onReturn: 'delete' } },
    providerPools: {
      main: {
        provider: 'hasty',
        priority: 100,
        limits: { nodes: 1 },
        attributes: {},
        launchAttempts: 3,
        labels: { a: offer },
      },
    },
  });
  return client;
}

describe('a pool whose CREATE timed out at a provider that cannot be asked for the machine', () => {
  const outages: Readonly<Record<string, (name: string) => Promise<void>>> = {
    // A caller of the server moves the task to a queue that no worker serves.
    nobody: async (name) => {
      await update(`pool/${name}`, 'CREATE', ...elsewhere('nobody'));
      await fail(`pool/${name}`, 'CREATE');
    },
    lost: async () => {
      await worker.kill();
      await wait(14_000);
      worker = await stack.startWorker('second');
    },
  };
  // Promise: create-sent-once
  it.each(Object.entries(outages))(
    'makes no other machine, and keeps the node until a person abandons it: %s',
    async (name, cause) => {
      const pool = await openPool(name);
      const fault = await hold(`${name}*`);
      await pool.request(['a']);
      await untilSent(name);
      await cause(name);
      const [node] = await until('DELETE has failed', async () => {
        const all = await pool.nodes();
        return all.some(({ state, why = '' }) => state === 'deleting' && why.includes('not deleted yet'))
          ? all
          : undefined;
      });
      const { id = '' } = node ?? {};
      expect(node?.why).toMatch(
        new RegExp(`Look there for a machine named .*heddle pool delete ${name} ${id} --abandon`),
      );
      expect((await pool.view()).providerPools['main']?.used).toEqual({ nodes: 1 });
      expect(await creates(name)).toHaveLength(1);
      await stack.service.release(fault);
      await pool.deleteNodes([id], { abandon: true });
      expect(await pool.nodes()).toEqual([]);
      await pool.request(['a']);
      await until('another machine is ready', async () =>
        (await pool.nodes()).some(({ state }) => state === 'in-use'),
      );
      expect(await creates(name)).toHaveLength(2);
    },
    120_000,
  );
});

it('a machine whose CREATE has an unknown outcome stays registered until a person forces its removal', async () => {
  const { machines } = stack.client;
  const ground = openGround(stack);
  await stack.service.arm({ fault: 'lose-answer', operation: 'create', hostname: 'machine-unsure' });
  const registration = { provider: 'hasty', flavor: 'tiny', image: 'host', fields: {}, system: 'linux' };
  const { operation } = await machines.add('unsure', registration);
  const failure = unknownMachine('machine-unsure', 'heddle machine remove unsure --force');
  expect((await ground.end('unsure', operation)).operation).toMatchObject({ state: 'failed', failure });
  expect((await ground.operate('unsure', { kind: 'remove' })).operation).toMatchObject({
    state: 'failed',
    failure,
  });
  await ground.operate('unsure', { kind: 'remove', force: true });
  expect((await handleOf('machine/unsure').describe()).status.name).toBe('COMPLETED');
  expect(await creates('machine-unsure')).toHaveLength(1);
});

describe('a caller of the server without keys', () => {
  it('has the power of a machine not reset twice by more attempts', async () => {
    const ground = openGround(stack);
    await ground.add('m', { provider: 'hasty' });
    const operation = await ground.begin('m', { kind: 'power', verb: 'reset' });
    const resets = async () =>
      (await readFile(join(folder, 'resets'), 'utf8').catch(() => '')).split('\n').length - 1;
    await until('it was sent', async () => (await resets()) === 1);
    const [options, path] = [{ retryPolicy: { maximumAttempts: 9 } }, 'retry_policy.maximum_attempts'];
    await update('machine/m', 'POWER_RESET', options, path);
    await fail('machine/m', 'POWER_RESET');
    const { operation: ended } = await ground.end('m', operation);
    expect(ended).toMatchObject({ state: 'failed', answer: 'unknown' });
    expect(await resets()).toBe(1);
  });

  it('has no script begun twice by other time limits', async () => {
    const operation = await apply('limits', 'local');
    await ledger.written('limits app-1 app INSTALL begin');
    const limit = { startToCloseTimeout: { seconds: 30 } };
    await update('cluster/limits', 'INSTALL', limit, 'start_to_close_timeout');
    await fail('cluster/limits', 'INSTALL');
    await until('another attempt', async () => (await pendingOf('cluster/limits', 'INSTALL'))?.attempt === 2);
    await ledger.open('limits');
    expect(await endOf('limits', operation)).toMatchObject({ state: 'done' });
    expect(await ledger.lines('limits ')).toEqual(onceEach('limits app-1 app', ['INSTALL']));
  });

  it('has nothing carried out twice by batch operations', async () => {
    const operation = await apply('batch', 'local');
    await ledger.written('batch app-1 app INSTALL begin');
    const machines = async () => (await stack.service.machines()).map(({ id, state }) => ({ id, state }));
    const before = await machines();
    const batch = async (more: object): Promise<void> => {
      const jobId = randomUUID();
      const visibilityQuery = "WorkflowId = 'cluster/batch'";
      const { namespace } = stack;
      await api().startBatchOperation({ namespace, visibilityQuery, jobId, reason: 'no keys', ...more });
      await until('the batch is over', async () => {
        const { state } = await api().describeBatchOperation({ namespace, jobId });
        return state === 2 || state === 3;
      });
      await wait(2_000);
    };
    const anew = { matchAll: true, resetAttempts: true, resetHeartbeat: true };
    await batch({ resetActivitiesOperation: anew });
    await batch({
      updateActivityOptionsOperation: {
        matchAll: true,
        activityOptions: { taskQueue: { name: 'heddle/core' }, startToCloseTimeout: { seconds: 2 } },
        updateMask: { paths: ['task_queue.name', 'start_to_close_timeout'] },
      },
    });
    await batch({ unpauseActivitiesOperation: anew });
    await batch({
      resetOperation: { options: { lastWorkflowTask: {}, resetReapplyType: 2 }, identity: 'x' },
    });
    await ledger.open('batch');
    const { state } = await endOf('batch', operation);
    if (state === 'held') await stack.client.retry('batch');
    expect(await endOf('batch', operation)).toMatchObject({ state: 'done' });
    expect(await ledger.lines('batch ')).toEqual(onceEach('batch app-1 app', ['INSTALL']));
    expect(await machines()).toEqual(before);
  });
});
