import { beforeAll, describe, expect, it } from 'vitest';
import { type Stack, startStack } from '../../harness/stack.js';
import { until } from '../../harness/until.js';
import { type Ground, host, openGround } from '../../harness/machine/ground.js';

describe('an operation of a machine that is cancelled', () => {
  let stack: Stack;
  let ground: Ground;

  beforeAll(async () => {
    stack = await startStack();
    await stack.startWorker();
    ground = openGround(stack);
  });

  it('accepts one operation at a time; cancelled during the load the machine is failed, before that unchanged', async () => {
    const { add, begin, end, operate, calls } = ground;
    await add('halted');
    const early = await stack.service.arm({
      fault: 'hold-answer',
      operation: 'power',
      hostname: 'machine-halted',
    });
    const first = await begin('halted', { kind: 'load', image: host });
    await until('switching off is asked', async () => (await stack.service.held(early)) === 1);
    await expect(stack.client.machines.operate('halted', { kind: 'power', verb: 'on' })).rejects.toThrow(
      /is busy: .* is running. Wait for it/,
    );
    await stack.client.machines.cancel('halted');
    await stack.service.release(early);
    const before = await end('halted', first);
    expect(before.operation.state).toBe('cancelled');
    expect(before.machine).toMatchObject({ state: 'available', why: 'the load was cancelled' });
    expect((await operate('halted', { kind: 'power', verb: 'status' })).operation.result?.power).toEqual({
      power: 'on',
    });
    expect(await calls('load', 'halted')).toEqual([]);

    const late = await stack.service.arm({
      fault: 'hold-answer',
      operation: 'load',
      hostname: 'machine-halted',
    });
    const second = await begin('halted', { kind: 'load', image: host });
    await until('the write is asked', async () => (await stack.service.held(late)) === 1);
    await stack.client.machines.cancel('halted');
    await stack.service.release(late);
    const half = await end('halted', second);
    expect(half.operation.state).toBe('cancelled');
    expect(half.machine).toMatchObject({ state: 'failed', half: host });
    // The way out is a load, of everything and without a question.
    expect((await operate('halted', { kind: 'load', image: host })).machine).toMatchObject({
      state: 'available',
      image: host,
    });
  });

  it('releases the machine if it is cancelled during the registration, and its name is free', async () => {
    const { add, end } = ground;
    const held = await stack.service.arm({
      fault: 'hold-answer',
      operation: 'create',
      hostname: 'machine-unwanted',
    });
    const { operation } = await stack.client.machines.add('unwanted', {
      provider: 'local',
      flavor: 'tiny',
      image: 'host',
      fields: {},
      system: 'linux',
    });
    await until('it is being made', async () => (await stack.service.held(held)) === 1);
    await stack.client.machines.cancel('unwanted');
    await stack.service.release(held);
    expect((await end('unwanted', operation)).operation).toMatchObject({ state: 'cancelled', notes: [] });
    await until(
      'it is not registered',
      async () => !(await stack.client.machines.list()).machines.some(({ name }) => name === 'unwanted'),
    );
    expect(
      (await stack.service.machines()).filter(({ hostname }) => hostname === 'machine-unwanted'),
    ).toEqual([]);
    expect(await add('unwanted')).toMatchObject({ state: 'available' });
  });
});
