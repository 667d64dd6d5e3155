import { beforeAll, describe, expect, it } from 'vitest';
import { openGround, type Ground } from '../../../harness/machine/ground.js';
import { bootMachine, runAs, unable, type RealMachine } from '../../../harness/reservation/real-machine.js';
import { startStack, type Stack } from '../../../harness/stack.js';

const image = { name: 'debian', revision: '4' };

describe.skipIf(unable !== undefined)('the record of the image on a machine whose login is not root', () => {
  let stack: Stack;
  let ground: Ground;
  const real: Record<string, RealMachine> = {};
  beforeAll(async () => {
    const accounts: Record<string, object> = {};
    stack = await startStack({ kind: 'sandbox', accounts });
    const logins = await Promise.all(['trusted', 'plain'].map((name) => bootWithLogin(name)));
    accounts['rack'] = { type: 'static', fields: { machines: logins } };
    await stack.startWorker();
    ground = openGround(stack);
    await Promise.all(
      logins.map(({ name }) => ground.add(name, { provider: 'rack', fields: { machine: name } })),
    );
  });

  async function bootWithLogin(name: string): Promise<RealMachine> {
    const machine = await bootMachine(stack, name);
    real[name] = machine;
    await asRoot(name, `useradd -m ops && echo 'ops:${machine.password}' | chpasswd`);
    if (name === 'trusted')
      await asRoot(name, 'mkdir -p /etc/sudoers.d; echo "ops ALL=(ALL) NOPASSWD: ALL" >/etc/sudoers.d/ops');
    return { ...machine, user: 'ops' };
  }

  function asRoot(name: string, line: string): Promise<string> {
    const machine = real[name];
    if (machine === undefined) throw new Error(`there is no ${name}`);
    return runAs(machine, machine, line);
  }

  async function useMachine(name: string): Promise<string> {
    const { operation } = await ground.operate(name, { kind: 'load', image });
    expect(operation.failure).toBeUndefined();
    await ground.operate(name, { kind: 'reserve', user: 'ada' });
    expect((await ground.operate(name, { kind: 'status' })).operation.result?.status).toMatchObject({
      status: 'READY',
      currentimage: image.name,
      evidence: { revision: image.revision },
    });
    await ground.operate(name, { kind: 'log in', user: 'ada' });
    const { operation: tainted } = await ground.operate(name, { kind: 'status' });
    expect(tainted.result?.status).toMatchObject({ evidence: { tainted: true } });
    return asRoot(name, 'stat -c "%U %a %n" /root/currentimage.txt* /home/*/currentimage.txt* 2>/dev/null');
  }

  it('is in the home of root if the login may use sudo without a password', async () => {
    expect(await useMachine('trusted')).toBe('root 644 /root/currentimage.txt');
    expect(await asRoot('trusted', 'cat /root/currentimage.txt')).toMatch(
      /^debian\n[^]*imagerevision_id=4\n[^]*vcld_post_load=success \([^]*vcld_tainted=user ada \(/,
    );
  });

  it('is in the home of the login otherwise', async () => {
    expect(await useMachine('plain')).toBe('ops 644 /home/ops/currentimage.txt');
  });

  it('is not overwritten if a directory has its name', async () => {
    await asRoot('trusted', 'rm /root/currentimage.txt && mkdir /root/currentimage.txt');
    const { operation } = await ground.operate('trusted', { kind: 'status' });
    expect(operation.result?.status).toMatchObject({ status: 'UNKNOWN' });
    const load = await ground.operate('trusted', { kind: 'load', image, force: true, withinMs: 20_000 });
    expect(load.operation).toMatchObject({
      state: 'failed',
      failure: { action: 'POST_LOAD', message: expect.stringMatching(/directory/) },
    });
    expect(await asRoot('trusted', 'ls -A /root/currentimage.txt')).toBe('');
  });

  it('that cannot be written prevents a capture', async () => {
    await ground.add('blocked');
    await ground.onMachine('blocked', 'rm -f /root/currentimage.txt && mkdir /root/currentimage.txt');
    const work = { name: 'work', revision: '1' };
    const { operation, machine } = await ground.operate('blocked', {
      kind: 'capture',
      image: work,
      prove: true,
    });
    expect(operation).toMatchObject({
      answer: 'not done',
      failure: { action: 'PRE_CAPTURE', message: expect.stringMatching(/is a directory/) },
    });
    expect(machine.state).toBe('maintenance');
    expect(await ground.calls('capture', 'blocked')).toEqual([]);
  });
});
