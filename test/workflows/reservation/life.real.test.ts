import { beforeAll, describe, expect, it } from 'vitest';
import type { HeddleError } from '../../../src/client/errors.js';
import type { ReservationView } from '../../../src/schema/output/reservation.js';
import { startStack, type Stack } from '../../harness/stack.js';
import { until } from '../../harness/until.js';
import { openGround, type Ground } from '../../harness/machine/ground.js';
import { unable } from '../../harness/reservation/real-machine.js';

describe.skipIf(unable !== undefined)('a reservation', () => {
  let stack: Stack;
  let ground: Ground;

  beforeAll(async () => {
    stack = await startStack({ kind: 'sandbox' });
    await stack.startWorker();
    ground = openGround(stack);
    await Promise.all([ground.add('lab-1'), ground.add('lab-2')]);
  });

  const stateOf = async (id: string): Promise<ReservationView['state']> =>
    (await stack.client.reservations.show(id)).state;
  const whenClosed = (id: string): Promise<ReservationView> =>
    stack.client.reservations.waitUntil(
      id,
      ({ machines, overAt }) => overAt !== undefined && machines.every(({ stage }) => stage === 'free'),
      { everyMs: 100 },
    );

  it('gives its user a machine with the image, and loads the machine again after use', async () => {
    const { reservations, machines } = stack.client;
    const {
      id,
      machines: [assignment],
    } = await reservations.create({ image: 'host', user: 'ada', for: '1h' });
    const name = assignment?.name ?? '';
    await reservations.waitUntil(id, ({ state }) => state === 'ready', { everyMs: 100 });
    const held = await machines.show(name);
    expect(held).toMatchObject({
      state: 'reserved',
      user: 'ada',
      image: { name: 'host', revision: '1' },
      holder: { reservation: id, user: 'ada' },
    });
    await expect(
      machines.operate(name, { kind: 'load', image: { name: 'host', revision: '1' } }),
    ).rejects.toThrow(/reserved for ada until .*reservation r1/);
    await expect(machines.operate(name, { kind: 'remove' })).rejects.toThrow(/reserved for ada/);
    const [opened] = await reservations.logIn(id, { everyMs: 100 });
    expect(opened?.access.login).toEqual({ user: 'hd-ada', password: expect.any(String) as string });
    expect(await ground.onMachine(name, 'grep vcld_tainted "$HOME/currentimage.txt"')).toMatch(/user ada/);
    expect(await stateOf(id)).toBe('in use');
    const loads = (await ground.calls('load', name)).length;
    await reservations.return(id);
    expect(await whenClosed(id)).toMatchObject({ state: 'returned' });
    expect(await ground.calls('load', name)).toHaveLength(loads + 1);
    const after = await machines.show(name);
    expect(after.state).toBe('available');
    expect(after.holder).toBeUndefined();
    expect(after.user).toBeUndefined();
  });

  it('is refused if it would overlap another one, with the time when it is available', async () => {
    const { reservations } = stack.client;
    const began = Date.now();
    const hour = (n: number): string => new Date(began + n * 3_600_000).toISOString();
    const booked = await reservations.create({
      image: 'host',
      user: 'ada',
      machines: ['lab-1'],
      from: hour(10),
      to: hour(12),
    });
    await expect(
      reservations.create({ image: 'host', user: 'bob', machines: ['lab-1'], from: hour(11), to: hour(13) }),
    ).rejects.toThrow(/machine lab-1 is reserved for ada .* is available from/);
    await expect(
      reservations.create({ image: 'host', user: 'bob', count: 3, from: hour(11), to: hour(13) }),
    ).rejects.toThrow(/2 machines fit, but 3 are requested/);
    await expect(
      reservations.create({ image: 'nothing', user: 'bob', from: hour(30), to: hour(31) }),
    ).rejects.toThrow(/provider local has no image nothing@1/);
    await expect(
      reservations.create({ image: 'host', user: 'bob', machines: ['lab-9'], from: hour(30), to: hour(31) }),
    ).rejects.toThrow(/machine lab-9 does not exist/);
    const before = await reservations.create({
      image: 'host',
      user: 'bob',
      machines: ['lab-1'],
      from: hour(8),
      to: hour(10),
    });
    await expect(reservations.extend(before.id, hour(11))).rejects.toThrow(
      new RegExp(`reserved for ada .*${booked.id}.* at most`),
    );
    expect((await reservations.extend(booked.id, hour(14))).to).toBe((await reservations.show(booked.id)).to);
    await reservations.cancel(booked.id);
    expect((await reservations.extend(before.id, hour(11))).state).toBe('booked');
    await reservations.cancel(before.id);
    await expect(reservations.cancel(before.id)).rejects.toThrow(/is over: cancelled by test/);
    expect(await reservations.list()).toEqual([]);
  });

  it('is accepted once, however many concurrent requests', async () => {
    const { reservations } = stack.client;
    const answers = await Promise.allSettled(
      ['a', 'b', 'c', 'd', 'e', 'f'].map((user) =>
        reservations.create({
          image: 'host',
          user,
          machines: ['lab-2'],
          from: new Date(Date.now() + 7_200_000).toISOString(),
          for: '1h',
        }),
      ),
    );
    const taken = answers.filter(({ status }) => status === 'fulfilled');
    expect(taken).toHaveLength(1);
    for (const answer of answers)
      if (answer.status === 'rejected')
        expect(answer.reason).toMatchObject({ code: 'Refused' } satisfies Partial<HeddleError>);
    for (const { id } of await reservations.list()) await reservations.cancel(id);
  });

  it('that ends during its load stops the load before it writes, and lets a write end', async () => {
    const { reservations, machines } = stack.client;
    const endDuring = async (operation: 'power' | 'load') => {
      const loads = (await ground.calls('load', 'lab-2')).length;
      const hold = await stack.service.arm({ fault: 'hold-answer', operation, hostname: 'machine-lab-2' });
      const { id } = await reservations.create({
        image: 'host',
        user: 'ada',
        machines: ['lab-2'],
        for: '1h',
      });
      await until(
        `the ${operation} is under way`,
        async () => (await stack.service.held(hold)) === 1,
        60_000,
      );
      await reservations.cancel(id);
      if (operation === 'load') await stack.service.release(hold);
      await whenClosed(id);
      if (operation === 'power') await stack.service.release(hold);
      const { history, state, holder } = await machines.show('lab-2');
      return {
        load: history.find(({ intent }) => intent.kind === 'load')?.state,
        writes: (await ground.calls('load', 'lab-2')).length - loads,
        machine: { state, holder },
      };
    };
    const forgetImage = () =>
      until('lab-2 has no record of its image', () =>
        ground.onMachine('lab-2', 'rm -f "$HOME/currentimage.txt"').then(
          () => true,
          () => false,
        ),
      );
    await forgetImage();
    const free = { state: 'available', holder: undefined };
    expect(await endDuring('power')).toEqual({ load: 'cancelled', writes: 0, machine: free });
    await forgetImage();
    expect(await endDuring('load')).toEqual({ load: 'done', writes: 1, machine: free });
  });

  it('whose user never came has its machine cleared and not loaded', async () => {
    const { reservations, machines } = stack.client;
    const { id } = await reservations.create({ image: 'host', user: 'ada', machines: ['lab-2'], for: '1h' });
    await reservations.waitUntil(id, ({ state }) => state === 'ready', { everyMs: 100 });
    const loads = (await ground.calls('load', 'lab-2')).length;
    await reservations.return(id);
    await whenClosed(id);
    expect(await ground.calls('load', 'lab-2')).toHaveLength(loads);
    const { history, state } = await machines.show('lab-2');
    expect(history.map(({ intent }) => intent.kind).slice(0, 3)).toEqual(['let go', 'unload', 'status']);
    expect(state).toBe('available');
    await until('it is free', async () => (await reservations.list()).length === 0);
  });
});
