import { beforeAll, describe, expect, it } from 'vitest';
import { type Stack, startStack, type WorkerProcess } from '../../harness/stack.js';
import { until } from '../../harness/until.js';
import { type Ground, host, openGround } from '../../harness/machine/ground.js';

describe('machines with periodic checks', () => {
  let stack: Stack;
  let ground: Ground;
  let worker: WorkerProcess;

  beforeAll(async () => {
    stack = await startStack({ config: { periodicChecks: { every: '1s' } } });
    worker = await stack.startWorker();
    ground = openGround(stack);
  });

  const drifts = async (name: string): Promise<readonly string[]> =>
    (await stack.client.machines.show(name)).drift
      .filter(({ seen }) => seen >= 2)
      .map(({ kind, found }) => `${kind} ${found}`);
  const pull = async (providerid: string | undefined): Promise<void> => {
    await stack.service.call('POST', `/v1/machines/${providerid}/power`, { power: 'off' });
  };

  it.concurrent('power: shown, and corrected only if the policy says so; requested states are no drift', async () => {
    const { add, operate, calls } = ground;
    const [shown, kept, asked] = await Promise.all([
      add('shown'),
      add('kept', { correct: ['power'] }),
      add('asked', { correct: ['power'] }),
    ]);
    await operate('asked', { kind: 'power', verb: 'off' });
    await pull(shown.providerid);
    await pull(kept.providerid);
    await until('it is switched on again', async () =>
      (await stack.client.machines.show('kept')).history.some(
        ({ intent, state, by }) => intent.kind === 'power' && state === 'done' && by === 'a periodic check',
      ),
    );
    await until('the other is shown', async () => (await drifts('shown')).includes('power off'));
    expect((await stack.client.machines.show('shown')).power).toBe('off');
    expect(await calls('power-on', 'kept')).toHaveLength(1);
    expect(await calls('power-on', 'shown')).toEqual([]);
    expect(await calls('power-on', 'asked')).toEqual([]);
    expect(asked.state).toBe('available');
    await until(
      'it is right again',
      async () => (await stack.client.machines.show('kept')).drift.length === 0,
    );
    expect(worker.output()).not.toContain('log is incomplete');
  });

  it.concurrent('image and absence: loaded again, or taken out of use; missing answers are neither', async () => {
    const { add, operate, onMachine, calls } = ground;
    const [, gone] = await Promise.all([
      add('changed', { correct: ['image'] }),
      add('gone', { correct: ['gone'] }),
      add('silent', { correct: ['gone', 'power', 'image'] }),
    ]);
    await operate('changed', { kind: 'load', image: host });
    await onMachine('changed', 'sed -i s/^imagerevision_id=.*/imagerevision_id=9/ "$HOME/currentimage.txt"');
    const fault = await stack.service.arm({
      fault: 'http',
      status: 503,
      operation: 'any',
      hostname: 'machine-silent',
      count: 0,
    });
    await stack.service.call('DELETE', `/v1/machines/${gone.providerid}`);
    await until('it is loaded again', async () => (await calls('load', 'changed')).length === 2);
    await until(
      'it is out of use',
      async () => (await stack.client.machines.show('gone')).state === 'maintenance',
    );
    expect((await stack.client.machines.show('gone')).why).toMatch(/it is gone/);
    await until(
      'the silent one was looked at',
      async () => (await stack.client.machines.show('silent')).checkedAt !== undefined,
    );
    expect(await drifts('silent')).toEqual([]);
    expect((await stack.client.machines.show('silent')).state).toBe('available');
    await stack.service.release(fault);
  });
});
