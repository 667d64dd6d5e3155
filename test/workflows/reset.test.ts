import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { temporal } from '@temporalio/proto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { WaitResult } from '../../src/client/wait.js';
import type { ClusterSpec } from '../../src/model/cluster/spec.js';
import type { ApiProxy } from '../../src/testing/proxy.js';
import { writeLagCloud } from '../harness/chaos/lag-cloud.js';
import { reset } from '../harness/faults/resets.js';
import type { Stack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { startProxied } from '../harness/workflows/proxied.js';
import { closed, nodes } from '../harness/workflows/spec.js';
import { newFolder } from '../harness/folder.js';

type WorkflowEvent = temporal.api.history.v1.IHistoryEvent;

const patience = { everyMs: 100 } as const;
/** Of several nodes only the first two are in the workflow of the cluster. */
const scale = { inlineNodes: 2, groupNodes: 4 };

let folder: string;
let stack: Stack;
let proxy: ApiProxy;
let stop: () => Promise<void>;
beforeAll(async () => {
  folder = newFolder();
  const proxied = await startProxied({ plugins: [await writeBlindCloud(folder)], scale });
  ({ stack, proxy, stop } = proxied);
  const { endpoint, apiKeyFile } = stack.service;
  const apiKey = { secret: `file:${apiKeyFile}` };
  proxied.accounts['hasty'] = { type: 'hasty', fields: { endpoint, apiKey } };
  await stack.startWorker();
});
afterAll(() => stop());

/** Writes a provider that cannot be asked for its machines. */
async function writeBlindCloud(at: string): Promise<string> {
  const plugins = await writeLagCloud(at, ['hasty']);
  const descriptor = join(plugins, 'providers', 'hasty', 'hasty.json');
  const fields = JSON.parse(await readFile(descriptor, 'utf8')) as object;
  await writeFile(descriptor, JSON.stringify({ ...fields, idempotency: 'none', callDeadlineMs: 20_000 }));
  const code = join(plugins, 'providers', 'hasty', 'cloud.mjs');
  const source = await readFile(code, 'utf8');
  const blind = source
    .replace('async find(', 'async unusedFind(')
    .replace('async list(', 'async unusedList(')
    .replaceAll('(await this.find(key))', '[]');
  await writeFile(code, blind);
  return plugins;
}

async function eventsOf(name: string): Promise<readonly WorkflowEvent[]> {
  const { events } = await stack.client.temporal.workflow.getHandle(`cluster/${name}`).fetchHistory();
  return events ?? [];
}

/** To the workflow task before the last CREATE of a machine or, in a group, before the start of the group. */
async function resetCreation(name: string, where: 'cluster' | 'group'): Promise<void> {
  const events = await eventsOf(name);
  const last = events.findLastIndex((event) =>
    where === 'cluster'
      ? event.activityTaskScheduledEventAttributes?.activityType?.name === 'CREATE'
      : event.startChildWorkflowExecutionInitiatedEventAttributes,
  );
  await reset(
    stack,
    name,
    events.slice(0, last).findLast((event) => event.workflowTaskCompletedEventAttributes)?.eventId,
  );
}

async function apply(spec: ClusterSpec): Promise<WaitResult> {
  const { operation } = await stack.client.apply(spec);
  return stack.client.waitFor(spec.name, operation, patience);
}

async function machinesOf(name: string): Promise<readonly string[]> {
  return (await stack.service.machines())
    .filter(({ hostname, state }) => String(hostname).startsWith(`${name}-`) && state !== 'deleting')
    .map(({ id }) => String(id))
    .toSorted();
}

/**
 * Until the proxy is cleared, questions about these machines are not answered, or the provider
 * is not available.
 */
function silence(machines: readonly string[], how: 'hold' | 'unavailable'): () => number {
  let asked = 0;
  proxy.set(({ method, path }) => {
    if (method !== 'GET' || !machines.some((machine) => path.includes(machine))) return undefined;
    asked += 1;
    return how === 'hold' ? { kind: 'hold' } : { kind: 'answer', status: 503, body: '{"error":"later"}' };
  });
  return () => asked;
}

async function switchPower(machines: readonly string[], power: 'on' | 'off'): Promise<void> {
  for (const machine of machines)
    await stack.service.call('POST', `/v1/machines/${machine}/power`, { power });
}

const refusal = /the workflow was reset at .* it is not deleted.*'heddle apply FILE'/;
const counts = { cluster: 1, group: 3 } as const;
const places = ['cluster', 'group'] as const;

// Promise: reset-deletes-nothing
describe.each(places)('after a reset, for machines in the workflow of a %s,', (where) => {
  const count = counts[where];
  const specOf = (name: string): ClusterSpec =>
    closed({ name, nodes: { app: nodes(count, [], { provider: 'parts', confirmWithin: '2s' }) } });

  async function inService(spec: ClusterSpec): Promise<readonly string[]> {
    expect((await apply(spec)).operation.state).toBe('done');
    return machinesOf(spec.name);
  }

  async function expectInService(spec: ClusterSpec, machines: readonly string[]): Promise<void> {
    expect(await machinesOf(spec.name)).toEqual(machines);
    const { operation } = await apply(spec);
    expect(operation.state).toBe('done');
    expect(operation.tasks.done).toBeLessThanOrEqual(operation.tasks.total);
    expect(await machinesOf(spec.name)).toEqual(machines);
  }

  it('a cancelled operation deletes none', async () => {
    const name = `cancel-${where}`;
    const spec = specOf(name);
    const machines = await inService(spec);
    const asked = silence(machines, 'hold');
    await resetCreation(name, where);
    await until('the provider is asked for all', () => asked() >= count);
    await stack.client.cancel(name);
    proxy.clear();
    const { operation } = await stack.client.waitFor(name, '1', patience);
    expect(operation).toMatchObject({ state: 'cancelled', reason: expect.stringMatching(refusal) });
    expect(operation.tasks.done).toBeLessThanOrEqual(operation.tasks.total);
    // As its reason says; the machine still does not answer.
    silence(machines, 'unavailable');
    const { operation: next } = await apply(spec);
    proxy.clear();
    expect(next).toMatchObject({ state: 'held', reason: expect.stringMatching(refusal) });
    await expectInService(spec, machines);
  });

  it('a machine that does not answer is not replaced', async () => {
    const name = `launch-${where}`;
    const spec = specOf(name);
    const machines = await inService(spec);
    const asked = silence(machines, 'unavailable');
    await resetCreation(name, where);
    await until('the provider is asked for all', () => asked() >= count);
    const { operation } = await stack.client.waitFor(name, '1', patience);
    proxy.clear();
    expect(operation).toMatchObject({ state: 'held', reason: expect.stringMatching(refusal) });
    expect(operation.tasks.done).toBeLessThanOrEqual(operation.tasks.total);
    await expectInService(spec, machines);
  });

  it('an automatic rollback deletes none', async () => {
    const name = `back-${where}`;
    const before = nodes(1, [], { provider: 'parts' });
    const older = closed({ name, onFailure: 'rollback', nodes: { web: before } });
    const spec = closed({
      ...specOf(name),
      onFailure: 'rollback',
      nodes: { ...specOf(name).nodes, web: before },
    });
    const [web] = await inService(older);
    const machines = await inService(spec);
    const asked = silence(
      machines.filter((machine) => machine !== web),
      'unavailable',
    );
    await resetCreation(name, where);
    await until('the provider is asked', () => asked() > 0);
    await until('it is rolled back', async () =>
      (await stack.client.status(name)).operation?.cause === 'failure' ? true : undefined,
    );
    const { operation } = await stack.client.waitFor(name, '3', patience);
    proxy.clear();
    expect(operation).toMatchObject({
      kind: 'rollback',
      cause: 'failure',
      state: 'held',
      reason: expect.stringMatching(refusal),
    });
    await expectInService(spec, machines);
  });

  it('a machine that a user names is replaced', async () => {
    const name = `named-${where}`;
    const spec = specOf(name);
    const machines = await inService(spec);
    const asked = silence(machines, 'unavailable');
    await resetCreation(name, where);
    await until('the provider is asked for all', () => asked() >= count);
    expect((await stack.client.waitFor(name, '1', patience)).operation.state).toBe('held');
    await stack.client.operate(name, { kind: 'replace', nodes: ['app-1'] });
    proxy.clear();
    expect((await stack.client.waitFor(name, '1', patience)).operation.state).toBe('done');
    const now = await machinesOf(name);
    expect(now).toHaveLength(count);
    expect(now.filter((machine) => machines.includes(machine))).toHaveLength(count - 1);
  });
});

it.each([0, 1, 2])(
  'an operation ends again after a reset to %i tasks after the start of a group',
  async (tasks) => {
    const name = `started-${tasks}`;
    const spec = closed({ name, nodes: { app: nodes(3, [], { provider: 'parts' }) } });
    expect((await apply(spec)).operation.state).toBe('done');
    const machines = await machinesOf(name);
    const events = await eventsOf(name);
    const started = events.findLastIndex((event) => event.childWorkflowExecutionStartedEventAttributes);
    const completed = events.slice(started).filter((event) => event.workflowTaskCompletedEventAttributes);
    await reset(stack, name, completed[tasks]?.eventId);
    const { operation } = await stack.client.waitFor(name, '1', patience);
    expect(operation.state).toBe('done');
    expect(operation.tasks.done).toBeLessThanOrEqual(operation.tasks.total);
    expect(await machinesOf(name)).toEqual(machines);
  },
);

it('a machine of a terminated run that does not answer is not replaced', async () => {
  const name = 'ended';
  const spec = closed({ name, nodes: { app: nodes(3, [], { provider: 'parts', confirmWithin: '2s' }) } });
  expect((await apply(spec)).operation.state).toBe('done');
  const machines = await machinesOf(name);
  await stack.client.temporal.workflow.getHandle(`cluster/${name}`).terminate();
  await switchPower(machines, 'off');
  const { operation } = await apply(spec);
  await switchPower(machines, 'on');
  expect(operation).toMatchObject({
    state: 'held',
    reason: expect.stringMatching(/did not list the machine of app-. when it started, so it is not removed/),
  });
  expect((await apply(spec)).operation.state).toBe('done');
  expect(await machinesOf(name)).toEqual(machines);
});

// Promise: create-sent-once
it('a reset of a cluster sends no CREATE of a group again to a provider that cannot be asked', async () => {
  const { client, service } = stack;
  const name = 'blind';
  const spec = closed({ name, nodes: { app: nodes(3, [], { provider: 'hasty' }) } });
  expect((await apply(spec)).operation.state).toBe('done');
  const created = async (): Promise<readonly unknown[]> =>
    (await service.journal('create')).filter(({ hostname }) => String(hostname).startsWith(`${name}-`));
  expect(await created()).toHaveLength(3);
  await resetCreation(name, 'group');
  const { operation } = await client.waitFor(name, '1', patience);
  expect(operation).toMatchObject({
    state: 'held',
    reason: expect.stringMatching(/the workflow was reset at/),
  });
  expect(await created()).toHaveLength(3);
});
