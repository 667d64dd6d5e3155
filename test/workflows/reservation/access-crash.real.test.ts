import { beforeAll, describe, expect, it } from 'vitest';
import type { MachineAccess } from '../../../src/model/machine/access.js';
import type { ReservationView } from '../../../src/schema/output/reservation.js';
import { startStack, type Stack, type WorkerProcess } from '../../harness/stack.js';
import { until } from '../../harness/until.js';
import { host, openGround, type Ground } from '../../harness/machine/ground.js';
import {
  bootMachine,
  isLetIn,
  makeKeyPair,
  runAs,
  unable,
  type Place,
  type RealMachine,
} from '../../harness/reservation/real-machine.js';

const quick = { everyMs: 100 } as const;

function placeOf(access: MachineAccess | null): Place {
  if (typeof access?.address !== 'string' || typeof access.port !== 'number')
    throw new Error('the machine is open to no user');
  return { address: access.address, port: access.port };
}

describe.skipIf(unable !== undefined)('accounts of users while workers die, and of users with sudo', () => {
  let stack: Stack;
  let ground: Ground;
  let worker: WorkerProcess;
  let real: RealMachine;

  beforeAll(async () => {
    const accounts: Record<string, object> = {};
    const config = { reservations: { prepare: '1m' }, automators: { linux: { fields: { sudo: true } } } };
    stack = await startStack({ kind: 'sandbox', accounts, config });
    real = await bootMachine(stack, 'kept');
    accounts['rack'] = { type: 'static', fields: { machines: [real] } };
    worker = await stack.startWorker('w0');
    ground = openGround(stack);
    await ground.add('kept', { provider: 'rack' });
  });

  const asRoot = (line: string): Promise<string> => runAs(real, real, line);
  const isClosed = ({ overAt, machines }: ReservationView): boolean =>
    overAt !== undefined && machines.every(({ stage }) => stage === 'free');

  /** Has a program of the machine wait until it is let go on; each call of it leaves a line. */
  async function holdProgram(name: string): Promise<void> {
    const text = `#!/bin/sh\\necho called >>/root/${name}.calls\\nuntil [ -e /root/${name}.go ]; do sleep 0.1; done\\nexec /usr/sbin/${name}.real "$@"\\n`;
    await asRoot(
      `mv /usr/sbin/${name} /usr/sbin/${name}.real; printf '${text}' >/usr/sbin/${name}; chmod 755 /usr/sbin/${name}`,
    );
  }

  /**
   * Kills the worker once the program has been called, and lets the program go on under the next worker.
   */
  async function killDuring(name: string, next: string): Promise<void> {
    await until(
      `${name} is called`,
      async () => (await asRoot(`cat /root/${name}.calls 2>/dev/null`)) !== '',
    );
    await worker.kill();
    worker = await stack.startWorker(next);
    await asRoot(`touch /root/${name}.go`);
  }

  // Promise: access-crash
  it('an account is created once and removed completely, although the worker is killed during each', async () => {
    const { reservations, machines } = stack.client;
    await holdProgram('useradd');
    await holdProgram('userdel');
    const { id } = await reservations.create({
      image: 'host',
      user: 'Ada Lovelace',
      machines: ['kept'],
      for: '1h',
    });
    await reservations.waitUntil(id, ({ state }) => state === 'ready', quick);
    const opening = reservations.logIn(id, quick);
    await killDuring('useradd', 'w1');
    const [opened] = await opening;
    const login = opened?.access.login ?? { user: '' };
    expect(login.user).toBe('hd-ada-lovelace');
    expect(await runAs(real, login, 'sudo -n id -un')).toBe('root');
    expect(await asRoot('grep -c "^hd-" /etc/passwd; cat /root/useradd.calls')).toBe('1\ncalled');

    await reservations.return(id);
    await killDuring('userdel', 'w2');
    await reservations.waitUntil(id, isClosed, quick);
    expect(await isLetIn(real, login)).toBe(false);
    expect(
      await asRoot(
        'grep -h "^hd-" /etc/passwd /etc/shadow /etc/group; ls -A /home /etc/sudoers.d | grep -E "hd-|heddle"; cat /root/userdel.calls',
      ),
    ).toBe('called');
    // Its user could become root, and no load writes this machine.
    expect(await machines.show('kept')).toMatchObject({ state: 'maintenance' });
  });

  it('changes of a user with sudo prevent UNLOAD of the machine, and are gone with the disk after LOAD', async () => {
    const { machines } = stack.client;
    await ground.add('written');
    await ground.operate('written', { kind: 'load', image: host });
    await ground.operate('written', { kind: 'reserve', user: 'ada' });
    expect(
      (await ground.operate('written', { kind: 'log in', user: 'ada' })).operation.failure,
    ).toBeUndefined();
    const access = await machines.access('written');
    const place = placeOf(access);
    const login = access?.login ?? { user: '' };
    const { publicKey, privateKey } = makeKeyPair();
    await runAs(
      place,
      login,
      `sudo -n sh -c 'mkdir -p -m 700 /root/.ssh; echo "${publicKey}" >>/root/.ssh/authorized_keys'`,
    );
    const planted = { user: 'root', privateKey };
    expect(await isLetIn(place, planted)).toBe(true);

    const unload = await ground.operate('written', { kind: 'unload' });
    expect(unload.operation).toMatchObject({
      state: 'failed',
      answer: 'not done',
      failure: {
        message: expect.stringContaining('may have been changed while ada had it; load an image') as string,
      },
    });
    expect(unload.machine.state).toBe('in use');
    expect(await isLetIn(place, login)).toBe(false);
    expect(await isLetIn(place, planted)).toBe(true);

    // The machine says that it has the image, which would be enough of anyone else.
    const load = await ground.operate('written', { kind: 'load', image: host });
    expect(load.operation).toMatchObject({ state: 'done', result: { did: 'everything' } });
    expect(load.machine).toMatchObject({ state: 'available' });
    for (const one of [login, planted]) expect(await isLetIn(place, one)).toBe(false);
  });

  it('an image that is captured of a machine in use has no account of its user', async () => {
    await ground.add('source');
    await ground.operate('source', { kind: 'load', image: host });
    await ground.operate('source', { kind: 'reserve', user: 'ada' });
    await ground.operate('source', { kind: 'log in', user: 'ada' });
    const access = await stack.client.machines.access('source');
    const capture = await ground.operate('source', {
      kind: 'capture',
      image: { name: 'work', revision: '1' },
      prove: true,
    });
    expect(capture.operation.failure).toBeUndefined();
    expect(capture.machine.state).toBe('available');
    expect(
      await ground.onMachine(
        'source',
        'grep -h "^hd-" /etc/passwd /etc/shadow; ls /etc/sudoers.d | grep heddle',
      ),
    ).toBe('');
    const place = placeOf(access);
    expect(await isLetIn(place, access?.login ?? { user: '' })).toBe(false);
  });
});
