import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { startStack, type Stack } from '../../../harness/stack.js';
import { openGround, type Ground } from '../../../harness/machine/ground.js';
import { unable } from '../../../harness/reservation/real-machine.js';

describe.skipIf(unable !== undefined)('host keys of SSH in a captured image', () => {
  let stack: Stack;
  let ground: Ground;
  beforeAll(async () => {
    stack = await startStack({
      temporalAddress: inject('temporalAddress'),
      distPath: inject('distPath'),
      kind: 'sandbox',
    });
    await stack.startWorker();
    ground = openGround(stack);
    await ground.add('source');
  });
  afterAll(() => stack.stop());

  const keys = (): Promise<string> => ground.onMachine('source', 'cat /etc/ssh/ssh_host_*_key.pub');
  const boot = (): Promise<string> => ground.onMachine('source', 'sh /etc/heddle/host-keys.sh 2>&1');

  it('stay those of the captured machine there, and are made anew on another one', async () => {
    await ground.onMachine('source', 'mkdir -p /etc/ssh /etc/systemd/system; ssh-keygen -A');
    const own = await keys();
    const image = { name: 'keyed', revision: '1' };
    const { operation } = await ground.operate('source', { kind: 'capture', image, prove: false });
    expect(operation.failure).toBeUndefined();
    const unit = await ground.onMachine(
      'source',
      'cat /etc/systemd/system/multi-user.target.wants/heddle-host-keys.service',
    );
    expect(unit).toMatch(/Before=ssh\.service/);
    await boot();
    expect(await keys()).toBe(own);

    // What a machine with other numbers finds in the image.
    await ground.onMachine('source', 'echo another >/etc/heddle/host-keys-of');
    await boot();
    const renewed = await keys();
    expect(renewed.split('\n').length).toBe(own.split('\n').length);
    for (const key of own.split('\n')) expect(renewed).not.toContain(key);
    await boot();
    expect(await keys()).toBe(renewed);
  });
});
