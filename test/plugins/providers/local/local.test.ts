import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { PluginContext } from '../../../../src/plugins/contract.js';
import { PluginError } from '../../../../src/plugins/errors.js';
import { fieldsOf } from '../../../harness/plugins/fields.js';
import { LocalProvider } from '../../../../src/plugins/providers/local/local.js';
import { TestService, until } from '../../../harness/local/service.js';
import { connect } from '../../../harness/local/ssh.js';

let counter = 0;
const quiet = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
const task: PluginContext['task'] = {
  taskId: 'u/n-1#1/-/CREATE/o',
  taskName: 'CREATE',
  clusterId: 'c',
  clusterUid: 'u',
  nodeId: 'n-1',
  incarnation: 1,
  attempt: 1,
  config: {},
  nodes: {},
  cluster: {},
  provider: { name: 'here', type: 'local', fields: {} },
};

function providerAt(
  endpoint: string,
  apiKey: string,
  signal: AbortSignal = new AbortController().signal,
): LocalProvider {
  return new LocalProvider({ task, log: quiet, signal, fields: { endpoint, apiKey } });
}

function createInput() {
  counter += 1;
  const key = `uid/n-${counter}/1`;
  return {
    flavor: 'tiny',
    image: 'host',
    hostname: `n-${counter}`,
    fields: {},
    key,
    token: createHash('sha256')
      .update(key + process.pid)
      .digest('hex'),
    tags: { 'heddle-key': key, 'heddle-installation': 'test' },
  };
}

async function failureOf(call: Promise<unknown>): Promise<PluginError> {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof PluginError) return error;
  throw new Error(`no PluginError but ${String(error)}`);
}

describe('provider local', () => {
  let service: TestService;
  let provider: LocalProvider;
  beforeAll(async () => {
    service = await TestService.start(['--kind', 'directory']);
  });
  beforeEach(async () => {
    await service.call('DELETE', '/v1/faults');
    provider = providerAt(service.about.endpoint, service.apiKey);
  });

  const create = async (input = createInput()) => {
    const { result } = await provider.create(input);
    return { ...input, providerid: z.string().parse(result?.['providerid']) };
  };

  it('creates, confirms once it is up, and deletes until it is gone', async () => {
    const input = createInput();
    const created = await provider.create(input);
    expect(created.result).toMatchObject({ 'ssh-auth': { user: expect.any(String) as string } });
    const machine = { ...input, providerid: z.string().parse(created.result?.['providerid']) };
    const confirmed = await until(async () =>
      provider.confirm(machine).catch((error: unknown) => {
        expect(error).toMatchObject({ kind: 'NotReady', retryAfterMs: 300 });
        return undefined;
      }),
    );
    const { address, port, password, hostKey, user } = await service.describe(machine.providerid);
    expect(confirmed.result).toEqual({
      providerid: machine.providerid,
      ipaddress: address,
      'ssh-port': port,
      'ssh-auth': { user, password },
      'ssh-host-key': hostKey,
    });
    (await connect(await service.describe(machine.providerid))).end();
    expect(await failureOf(provider.delete(machine))).toMatchObject({ kind: 'NotReady' });
    await until(async () =>
      provider.delete(machine).then(
        () => true,
        () => false,
      ),
    );
    expect((await service.call('GET', `/v1/machines/${machine.providerid}`)).status).toBe(410);
    await expect(provider.delete(machine)).resolves.toBeUndefined();
  });

  it('creates one machine however often CREATE is tried, also if the answer is lost', async () => {
    const input = createInput();
    await service.call('POST', '/v1/faults', { fault: 'lose-answer', operation: 'create' });
    expect(await failureOf(provider.create(input))).toMatchObject({ kind: 'Retryable' });
    const first = await provider.create(input);
    expect((await provider.create(input)).result).toEqual(first.result);
    expect(await provider.find(input.key)).toMatchObject([
      {
        providerid: first.result?.['providerid'],
        key: input.key,
        created: first.result,
        address: expect.any(String) as string,
      },
    ]);
  });

  it('finds and deletes by key alone', async () => {
    const { key, tags, fields, providerid } = await create();
    expect(await provider.find(key)).toMatchObject([{ providerid, tags }]);
    await until(async () =>
      provider.delete({ key, tags, fields }).then(
        () => true,
        () => false,
      ),
    );
    await service.waitUntilGone(providerid);
    expect(await provider.find(key)).toEqual([]);
  });

  it('fails CONFIRM without retries if the machine died or was deleted', async () => {
    const died = await create();
    await service.waitForState(died.providerid, 'running');
    await service.call('POST', `/v1/machines/${died.providerid}/kill`);
    expect(await failureOf(provider.confirm(died))).toMatchObject({
      kind: 'MachineFailed',
      message: expect.stringContaining('it was killed') as string,
    });
    await service.call('DELETE', `/v1/machines/${died.providerid}`);
    await service.waitUntilGone(died.providerid);
    expect(await failureOf(provider.confirm(died))).toMatchObject({
      kind: 'MachineFailed',
      message: expect.stringContaining('was deleted') as string,
    });
    expect(await failureOf(provider.create(died))).toMatchObject({
      kind: 'Invalid',
      message: expect.stringContaining('never gets a second machine') as string,
    });
  });

  it('waits for a machine that the service does not show yet', async () => {
    await service.call('POST', '/v1/faults', { fault: 'list-lag', ms: 600_000 });
    expect(await failureOf(provider.confirm(await create()))).toMatchObject({ kind: 'NotReady' });
  });

  it.each([
    [{ fault: 'http', status: 429, retryAfterSeconds: 2 }, 'Retryable', 2_000],
    [{ fault: 'http', status: 503, retryAfterSeconds: 1 }, 'Retryable', 1_000],
    [{ fault: 'http', status: 500 }, 'Retryable', undefined],
    [{ fault: 'no-capacity' }, 'Capacity', undefined],
  ])('classifies %j as %s', async (fault, kind, retryAfterMs) => {
    await service.call('POST', '/v1/faults', fault);
    expect(await failureOf(provider.create(createInput()))).toMatchObject({ kind, retryAfterMs });
  });

  it('distinguishes quota, credentials and wrong parameters', async () => {
    await service.call('PUT', '/v1/quota', { machines: 0 });
    expect(await failureOf(provider.create(createInput()))).toMatchObject({
      kind: 'Quota',
      message: expect.stringContaining('of 0 machines') as string,
    });
    await service.call('PUT', '/v1/quota', { machines: 2_000 });
    expect(await failureOf(providerAt(service.about.endpoint, 'wrong').create(createInput()))).toMatchObject({
      kind: 'Auth',
    });
    expect(await failureOf(provider.create({ ...createInput(), flavor: 'huge' }))).toMatchObject({
      kind: 'Invalid',
      message: expect.stringContaining('flavor') as string,
    });
    const input = await create();
    expect(await failureOf(provider.create({ ...input, image: 'host', hostname: 'other' }))).toMatchObject({
      kind: 'Invalid',
      message: expect.stringContaining('other parameters') as string,
    });
  });

  it('distinguishes no answer from the answer of another server', async () => {
    const server: Server = createServer((_request, response) => response.end('<html>')).listen(
      0,
      '127.0.0.1',
    );
    await once(server, 'listening');
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    expect(await failureOf(providerAt(endpoint, 'key').create(createInput()))).toMatchObject({
      kind: 'Retryable',
      message: expect.stringContaining('not JSON') as string,
    });
    server.close();
    await once(server, 'close');
    expect(await failureOf(providerAt(endpoint, 'key').create(createInput()))).toMatchObject({
      kind: 'Retryable',
      message: expect.stringContaining('ECONNREFUSED') as string,
    });
  });

  it('ends at once when its task is cancelled', async () => {
    await service.call('POST', '/v1/faults', { fault: 'latency', ms: 3_600_000, operation: 'create' });
    const cancelled = new AbortController();
    const call = providerAt(service.about.endpoint, service.apiKey, cancelled.signal).create(createInput());
    cancelled.abort(new Error('the task was cancelled'));
    await expect(call).rejects.toThrow('the task was cancelled');
  });

  it('requires the API key', () => {
    expect(() => fieldsOf('local', { endpoint: service.about.endpoint })).toThrow('apiKey: is missing');
  });

  it('has a descriptor with its class, fields and deadline', () => {
    const descriptor: unknown = JSON.parse(
      readFileSync(new URL('../../../../src/plugins/providers/local/local.json', import.meta.url), 'utf8'),
    );
    expect(descriptor).toMatchObject({
      name: 'local',
      type: 'provider',
      class: LocalProvider.name,
      idempotency: 'token',
      callDeadlineMs: 10_000,
    });
  });
});
