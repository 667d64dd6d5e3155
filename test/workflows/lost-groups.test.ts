import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ClusterSpec } from '../../src/model/cluster/spec.js';
import { startMachineService, type MachineService } from '../../src/testing/machine-service.js';
import type { ApiProxy } from '../../src/testing/proxy.js';
import type { Stack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { clustersOn } from '../harness/workflows/clusters-on.js';
import { type Ledger, openLedger } from '../harness/workflows/ledger.js';
import { reset } from '../harness/faults/resets.js';
import { startProxied } from '../harness/workflows/proxied.js';
import { closed, nodes } from '../harness/workflows/spec.js';
import { newFolder } from '../harness/folder.js';

let folder: string;
let ledger: Ledger;
let stack: Stack;
const { settled, apply, ended, machinesOf, pointAtRest } = clustersOn(() => stack);
let proxy: ApiProxy;
let second: MachineService;
let stop: () => Promise<void>;
beforeAll(async () => {
  folder = newFolder();
  ledger = openLedger(folder);
  const proxied = await startProxied({
    scale: { inlineNodes: 2, groupNodes: 2 },
    sweep: { every: '1h', minimumAge: '1ms', cap: 10, delete: true },
  });
  ({ stack, proxy, stop } = proxied);
  second = await startMachineService();
  const key = join(folder, 'key');
  await writeFile(key, second.apiKey, { mode: 0o600 });
  proxied.accounts['second'] = {
    type: 'example',
    fields: { endpoint: second.endpoint, apiKey: { secret: `file:${key}` } },
  };
  await stack.startWorker();
});
afterAll(async () => {
  await second.close();
  await stop();
});

const specOf = (name: string, count: number, more: object = {}, extra: object = {}): ClusterSpec =>
  closed({
    name,
    nodes: { app: nodes(count, ['app'], more) },
    services: { app: { actions: { start: ledger.script(), stop: ledger.script() } } },
    ...extra,
  });

const groupOf = (name: string, id = '1') =>
  stack.client.temporal.workflow.getHandle(`cluster/${name}/group/${id}`);
async function lose(name: string, id = '1'): Promise<void> {
  await groupOf(name, id).terminate('test');
  await new Promise((resolve) => setTimeout(resolve, 1_500));
}
async function sweep(): Promise<void> {
  for (let pass = 0; pass < 3; pass += 1) await stack.client.sweep();
}

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
async function exists(name: string, id = '1'): Promise<void> {
  await until('the group exists', async () =>
    groupOf(name, id)
      .describe()
      .then(
        () => true,
        () => undefined,
      ),
  );
}
const gated = (name: string, count: number): ClusterSpec =>
  closed({
    name,
    nodes: { app: nodes(count, ['app']) },
    services: { app: { actions: { start: ledger.script({ gate: name }), stop: ledger.script() } } },
  });

it('a group that goes while the machines of another are looked for is not forgotten', async () => {
  const name = 'raced';
  const spec = specOf(name, 6, { provider: 'parts' });
  expect((await apply(spec)).state).toBe('done');
  const machines = await machinesOf(name);
  await lose(name, '1');
  proxy.set(({ method, path }) =>
    method === 'GET' && path.startsWith('/v1/machines?')
      ? { kind: 'answer', status: 503, body: '{"error":"later"}' }
      : undefined,
  );
  const { operation } = await stack.client.apply(spec);
  await until('FIND_MACHINES is running', async () => {
    const { raw } = await stack.client.temporal.workflow.getHandle(`cluster/${name}`).describe();
    return raw.pendingActivities?.some(({ activityType }) => activityType?.name === 'FIND_MACHINES');
  });
  await lose(name, '2');
  proxy.clear();
  await settled(name, operation);
  await sweep();
  expect(await machinesOf(name)).toEqual(machines);
});

it('machines of a lost group are looked for where it had them, not only where the file has nodes', async () => {
  const name = 'moved';
  const both = (provider: string): ClusterSpec =>
    closed({
      name,
      nodes: { web: nodes(2, ['app']), db: nodes(2, ['app'], { provider }) },
      services: { app: { actions: { start: ledger.script() } } },
    });
  expect((await apply(both('second'))).state).toBe('done');
  const machines = await machinesOf(name, second);
  expect(machines).toHaveLength(2);
  await lose(name);
  const { state } = await apply(both('local'));
  await sweep();
  expect(await machinesOf(name, second)).toEqual(machines);
  expect(state).toBe('rejected');
});

it('machines that the lost group had from a terminated run count as its own', async () => {
  const name = 'twice';
  expect((await apply(specOf(name, 4))).state).toBe('done');
  const machines = await machinesOf(name);
  await stack.client.temporal.workflow.getHandle(`cluster/${name}`).terminate('test');
  expect((await apply(specOf(name, 4))).state).toBe('done');
  await lose(name);
  const { state } = await apply(specOf(name, 3));
  await sweep();
  expect(await machinesOf(name)).toEqual(machines);
  expect(state).toBe('rejected');
});

it('a failed machine of a lost group gets its node back, and can be replaced', async () => {
  const name = 'failed';
  await stack.service.arm({ fault: 'dies', ms: 7_000, hostname: `${name}-app-3` });
  expect((await apply(specOf(name, 4))).state).toBe('done');
  const machines = await machinesOf(name);
  await lose(name);
  await until('it has failed', async () =>
    (await stack.service.machines()).find(
      ({ hostname, state }) => hostname === `${name}-app-3` && state === 'failed',
    ),
  );
  const { id, state } = await apply(specOf(name, 4));
  expect(state).toBe('held');
  expect(await machinesOf(name)).toEqual(machines);
  await stack.client.operate(name, { kind: 'replace', nodes: ['app-3'] });
  expect((await settled(name, id)).state).toBe('done');
  const now = await machinesOf(name);
  expect(now).toHaveLength(4);
  expect(now.filter((machine) => machines.includes(machine))).toHaveLength(3);
});

it('the status of a cluster whose group was ended before its first task can be read', async () => {
  const name = 'unread';
  const { operation } = await stack.client.apply(gated(name, 4));
  await exists(name);
  await groupOf(name).terminate('test');
  await ledger.open(name);
  await settled(name, operation);
  await stack.client.status(name);
});

it('after a reset of a group to before a replacement, the machine in service stays', async () => {
  const name = 'gback';
  expect((await apply(specOf(name, 4))).state).toBe('done');
  const { events } = await groupOf(name).fetchHistory();
  const point = events?.findLast((event) => event.workflowTaskCompletedEventAttributes)?.eventId;
  const { operation } = await stack.client.operate(name, { kind: 'replace', nodes: ['app-3'] });
  expect((await settled(name, operation)).state).toBe('done');
  const machines = await machinesOf(name);
  const workflowId = `cluster/${name}/group/1`;
  const { runId } = await groupOf(name).describe();
  await stack.client.temporal.workflowService.resetWorkflowExecution({
    namespace: stack.namespace,
    workflowExecution: { workflowId, runId },
    reason: 'test',
    requestId: `reset-${name}`,
    workflowTaskFinishEventId: point,
  });
  await wait(5_000);
  expect((await apply(specOf(name, 4))).state).toBe('done');
  await sweep();
  expect(await machinesOf(name)).toEqual(machines);
});

it('after a reset of a cluster, a machine in service that its state does not know stays', async () => {
  const name = 'overtaken';
  expect((await apply(specOf(name, 2))).state).toBe('done');
  const point = await pointAtRest(name);
  expect((await apply(specOf(name, 4))).state).toBe('done');
  const { operation } = await stack.client.operate(name, { kind: 'replace', nodes: ['app-4'] });
  expect((await settled(name, operation)).state).toBe('done');
  const machines = await machinesOf(name);
  // The requests since then are not delivered again.
  await reset(stack, name, point, { withoutMessages: true });
  await ended(name);
  // Held: a key never gets a second machine. The incarnations of further nodes pass that of the
  // machine of app-4.
  for (const count of [4, 6, 6]) await apply(specOf(name, count));
  await sweep();
  expect(await machinesOf(name)).toEqual(expect.arrayContaining([...machines]));
});
