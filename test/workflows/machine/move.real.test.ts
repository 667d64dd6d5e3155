import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startStack, type Stack, type WorkerProcess } from '../../harness/stack.js';
import { until } from '../../harness/until.js';
import { host, openGround, type Ground } from '../../harness/machine/ground.js';

describe('a machine that moves to another provider account', () => {
  let stack: Stack;
  let elsewhere: Stack;
  let ground: Ground;
  let worker: WorkerProcess;
  beforeAll(async () => {
    const accounts: Record<string, object | 'service'> = {};
    stack = await startStack({ accounts });
    // Another machine service, with machines of its own.
    elsewhere = await startStack({ namespace: stack.namespace });
    accounts['elsewhere'] = {
      type: 'local',
      fields: {
        endpoint: elsewhere.service.endpoint,
        apiKey: { secret: `file:${elsewhere.service.apiKeyFile}` },
      },
    };
    accounts['far'] = { ...accounts['elsewhere'], site: 'far' };
    accounts['locked'] = {
      type: 'local',
      fields: { endpoint: elsewhere.service.endpoint, apiKey: 'this-is-not-the-key' },
    };
    worker = await stack.startWorker();
    ground = openGround(stack);
  });
  afterAll(async () => {
    await elsewhere.stop();
    await stack.stop();
  });

  const to = (provider: string) => ({ kind: 'move', to: { provider } }) as const;
  const namesAt = async ({ service }: Stack): Promise<readonly string[]> =>
    (await service.machines()).map(({ hostname }) => String(hostname));

  it('is claimed there before it is released here, by its own key, and back again by another', async () => {
    await ground.add('blade');
    await ground.operate('blade', { kind: 'load', image: host });
    const moved = await ground.operate('blade', to('elsewhere'));
    expect(moved.operation.failure).toBeUndefined();
    expect(moved.machine).toMatchObject({ state: 'available', provider: 'elsewhere' });
    expect(moved.machine.image).toBeUndefined();
    expect([await namesAt(stack), await namesAt(elsewhere)]).toEqual([[], ['machine-blade']]);
    expect(await ground.onMachine('blade', 'echo here')).toBe('here');
    expect((await ground.operate('blade', { kind: 'load', image: host })).operation).toMatchObject({
      state: 'done',
    });
    // Its key is a new one, and the sweep knows it.
    expect((await stack.client.sweep()).leaks).toEqual([]);

    expect((await ground.operate('blade', to('local'))).machine).toMatchObject({ provider: 'local' });
    expect([await namesAt(stack), await namesAt(elsewhere)]).toEqual([['machine-blade'], []]);
    await ground.operate('blade', { kind: 'remove' });
    expect(await namesAt(stack)).toEqual([]);
  });

  it('stays while it is in use, and if the other account cannot have it', async () => {
    await ground.add('kept');
    await ground.operate('kept', { kind: 'reserve', user: 'ada' });
    await expect(ground.begin('kept', to('elsewhere'))).rejects.toThrow(
      'machine kept is reserved (ada); only a free machine can be moved to another provider',
    );
    await ground.operate('kept', { kind: 'release' });
    for (const [provider, why] of [
      ['nowhere', /has no provider "nowhere"/],
      ['locked', /401/],
    ] as const) {
      const { operation, machine } = await ground.operate('kept', to(provider));
      expect(operation).toMatchObject({ state: 'failed', failure: { message: expect.stringMatching(why) } });
      expect(machine).toMatchObject({ state: 'available', provider: 'local' });
    }
    expect((await ground.operate('kept', { kind: 'status' })).operation.result?.status).toMatchObject({
      ssh: 1,
      rpower: 1,
    });
    expect(await namesAt(elsewhere)).toEqual([]);
    expect((await ground.operate('kept', to('local'))).operation).toMatchObject({ state: 'done' });
    expect(await ground.calls('create', 'kept')).toHaveLength(1);
    await ground.operate('kept', { kind: 'remove' });
  });

  it('is cancelled while the other site has no worker', async () => {
    await ground.add('stuck');
    const operation = await ground.begin('stuck', to('far'));
    await stack.client.machines.cancel('stuck');
    expect(await ground.end('stuck', operation)).toMatchObject({
      operation: { state: 'cancelled' },
      machine: { provider: 'local', state: 'available' },
    });
    expect((await ground.operate('stuck', { kind: 'status' })).operation.result?.status).toMatchObject({
      ssh: 1,
    });
    await ground.operate('stuck', { kind: 'remove' });
  });

  it('continues when the worker dies, with one machine; cancelled before that it is unchanged', async () => {
    await ground.add('cut');
    const answer = await elsewhere.service.arm({
      fault: 'hold-answer',
      operation: 'create',
      hostname: 'machine-cut',
    });
    const operation = await ground.begin('cut', to('elsewhere'));
    await until('an unreported machine', async () => (await elsewhere.service.held(answer)) === 1, 120_000);
    await worker.kill();
    worker = await stack.startWorker('second');
    await elsewhere.service.release(answer);
    expect((await ground.end('cut', operation)).operation).toMatchObject({ state: 'done' });
    expect([await namesAt(stack), await namesAt(elsewhere)]).toEqual([[], ['machine-cut']]);

    const back = await stack.service.arm({
      fault: 'hold-answer',
      operation: 'create',
      hostname: 'machine-cut',
    });
    const second = await ground.begin('cut', to('local'));
    await until('a machine that is on its way', async () => (await stack.service.held(back)) === 1, 120_000);
    await stack.client.machines.cancel('cut');
    await stack.service.release(back);
    expect(await ground.end('cut', second)).toMatchObject({
      operation: { state: 'cancelled' },
      machine: { provider: 'elsewhere', state: 'available' },
    });
    expect([await namesAt(stack), await namesAt(elsewhere)]).toEqual([[], ['machine-cut']]);
    await ground.operate('cut', { kind: 'remove' });
  });
});
