import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { reservationsWorkflowId } from '../../../src/model/names.js';
import type { ReservationNotification } from '../../../src/model/reservation/state.js';
import type { ReservationView } from '../../../src/schema/output/reservation.js';
import { openPoints, type Points } from '../../harness/chaos/points.js';
import { startStack, type Stack, type WorkerProcess } from '../../harness/stack.js';
import { until } from '../../harness/until.js';
import { openGround, type Ground } from '../../harness/machine/ground.js';
import { unable } from '../../harness/reservation/real-machine.js';

const quick = { everyMs: 100 } as const;

describe.skipIf(unable !== undefined)('reservations while workers die', () => {
  let stack: Stack;
  let ground: Ground;
  let points: Points;
  let worker: WorkerProcess;
  let workers = 0;
  let told: string;

  beforeAll(async () => {
    const config: Record<string, unknown> = {};
    stack = await startStack({ config, kind: 'sandbox' });
    told = join(stack.folder, 'told');
    config['reservations'] = {
      prepare: '1m',
      remind: '4s',
      notify: { command: ['/bin/sh', '-c', 'cat >> "$0"', told] },
    };
    points = await openPoints(stack.folder, inject('distPath'));
    worker = await stack.startWorker('w0', points.distPath);
    ground = openGround(stack);
  });

  const isClosed = ({ overAt, machines }: ReservationView): boolean =>
    overAt !== undefined && machines.every(({ stage }) => stage === 'free');
  const events = async (id: string): Promise<readonly string[]> =>
    (await readFile(told, 'utf8').catch(() => ''))
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as ReservationNotification)
      .filter(({ reservation }) => reservation.id === id)
      .map(({ event }) => event);
  const isFree = async (name: string): Promise<void> => {
    const { holder, user, state } = await stack.client.machines.show(name);
    expect({ name, holder, user, state }).toEqual({
      name,
      holder: undefined,
      user: undefined,
      state: 'available',
    });
  };
  const killWorker = async (): Promise<void> => {
    await worker.kill();
    workers += 1;
    worker = await stack.startWorker(`w${workers}`, points.distPath);
  };

  /**
   * Kills the worker each time that it has carried out a step of a reservation and nobody has heard of it;
   * gives how often.
   */
  async function killAfterEachStep(
    id: string,
    most: number,
    isOver: (view: ReservationView) => boolean,
  ): Promise<number> {
    for (let kills = 0; kills < most; kills += 1) {
      const point = await points.arm('after', 'OPERATE_MACHINE');
      const met = await until(
        'a step is done, or the reservation is where it goes',
        async () => {
          if ((await point.met()) !== undefined) return 'met';
          return isOver(await stack.client.reservations.show(id)) && 'over';
        },
        90_000,
      );
      if (met === 'met') await killWorker();
      await point.release();
      if (met === 'over') return kills;
    }
    return most;
  }

  it('a block is released completely if one machine is not available, after whichever step the worker died', async () => {
    const { reservations } = stack.client;
    const [, dead] = await Promise.all([ground.add('all-1'), ground.add('all-2')]);
    await stack.service.call('DELETE', `/v1/machines/${dead.providerid}`);
    const { id } = await reservations.create({
      image: 'host',
      user: 'ada',
      machines: ['all-1', 'all-2'],
      for: '1h',
    });
    const kills = await killAfterEachStep(id, 4, isClosed);
    const end = await reservations.waitUntil(id, isClosed, quick);
    expect(end).toMatchObject({ state: 'failed', why: expect.stringContaining('all-2: ') as string });
    expect(kills).toBeGreaterThan(2);
    await isFree('all-1');
    expect((await stack.client.machines.show('all-2')).holder).toBeUndefined();
    await until('it was told', async () => (await events(id)).includes('failed'));
    expect(await events(id)).not.toContain('ready');
    await Promise.all(
      ['all-1', 'all-2'].map((name) =>
        ground.operate(name, { kind: 'maintain', reason: 'the test is done with it' }),
      ),
    );
  });

  it('a block gets all its machines, each loaded once, and another machine replaces one that is not available', async () => {
    const { reservations } = stack.client;
    const [broken] = await Promise.all(['one-1', 'one-2', 'one-3', 'one-4'].map((name) => ground.add(name)));
    await stack.service.call('DELETE', `/v1/machines/${broken?.providerid}`);
    const { id, machines } = await reservations.create({
      image: 'host',
      user: 'ada',
      count: 2,
      provider: 'local',
      for: '1h',
    });
    expect(machines.map(({ name }) => name)).toEqual(['one-1', 'one-2']);
    await killAfterEachStep(id, 2, ({ state }) => state === 'ready');
    // In the middle, the calendar goes on in another run.
    await stack.client.temporal.workflow.getHandle(reservationsWorkflowId).cancel();
    const ready = await reservations.waitUntil(id, ({ state }) => state === 'ready', quick);
    const names = ready.machines.map(({ name }) => name);
    expect(names).toHaveLength(2);
    expect(names).not.toContain('one-1');
    expect((await stack.client.machines.show('one-1')).holder).toBeUndefined();
    for (const name of names) {
      expect((await stack.client.machines.show(name)).state).toBe('reserved');
      expect((await ground.calls('load', name)).length).toBeLessThanOrEqual(1);
    }
    await until('it was told', async () => (await events(id)).at(-1) === 'ready');
    expect(await events(id)).toContain('moved');
    await reservations.return(id);
    await reservations.waitUntil(id, isClosed, quick);
    await Promise.all(names.map(isFree));
  });

  it('after its end the next user finds the machine loaded with the right image', async () => {
    const { reservations, machines } = stack.client;
    await Promise.all([ground.add('next-1'), ground.add('next-2')]);
    expect(
      (
        await ground.operate('next-2', {
          kind: 'capture',
          image: { name: 'base', revision: '7' },
          prove: false,
        })
      ).operation.state,
    ).toBe('done');
    const end = Date.now() + 40_000;
    const first = await reservations.create({
      image: 'host',
      user: 'ada',
      machines: ['next-1'],
      to: new Date(end).toISOString(),
    });
    const second = await reservations.create({
      image: 'base@7',
      user: 'bob',
      machines: ['next-1'],
      from: new Date(end).toISOString(),
      for: '1h',
    });
    await reservations.waitUntil(first.id, ({ state }) => state === 'ready', quick);
    await reservations.logIn(first.id, quick);
    const loads = (await ground.calls('load', 'next-1')).length;
    const ready = await reservations.waitUntil(second.id, ({ state }) => state === 'ready', quick);
    expect(await reservations.show(first.id)).toMatchObject({ state: 'ended', why: 'its end was reached' });
    expect(Date.parse(ready.readyAt ?? '')).toBeGreaterThanOrEqual(end);
    expect(await machines.show('next-1')).toMatchObject({
      state: 'reserved',
      user: 'bob',
      image: { name: 'base', revision: '7' },
    });
    expect(await ground.calls('load', 'next-1')).toHaveLength(loads + 1);
    await until('all was told', async () => (await events(first.id)).join() === 'ready,reminder,ended');
    await reservations.return(second.id);
    await reservations.waitUntil(second.id, isClosed, quick);
  });
});
