import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Stack, startStack } from '../../harness/stack.js';
import { until } from '../../harness/until.js';
import { type Ground, host, openGround } from '../../harness/machine/ground.js';

const hasPing = spawnSync('ping', ['-c', '1', '127.0.0.1']).status === 0;

const unable =
  process.platform === 'linux' && process.getuid?.() === 0 ? undefined : 'sandboxes need Linux and root';

describe.skipIf(unable !== undefined)(
  `images of sandboxes contain the differences from the host${unable === undefined ? '' : ` (left out: ${unable})`}`,
  () => {
    let stack: Stack;
    let ground: Ground;

    beforeAll(async () => {
      stack = await startStack({ kind: 'sandbox' });
      await stack.startWorker();
      ground = openGround(stack);
    });
    afterAll(async () => {
      await stack.stop();
    });

    it('a machine whose SSH server hangs replies to an ICMP echo, and its status says so', async () => {
      await ground.add('hung');
      expect((await ground.operate('hung', { kind: 'status' })).operation.result?.status).toMatchObject({
        ping: 1,
        evidence: { pingBy: 'tcp' },
      });
      await ground.onMachine('hung', 'kill -STOP $(pgrep -o sshd)');
      // With a full queue of connections, the system does not answer further ones.
      const { ipaddress, 'ssh-port': port } = (await stack.client.machines.payload('hung')) as {
        readonly ipaddress: string;
        readonly 'ssh-port': number;
      };
      let accepted = 0;
      const sockets = Array.from({ length: 200 }, () =>
        connect(port, ipaddress, () => (accepted += 1)).on('error', () => undefined),
      );
      await until('the queue to be full', () => accepted > 128);
      expect((await ground.operate('hung', { kind: 'status' })).operation.result?.status).toMatchObject({
        status: 'UNKNOWN',
        ...(hasPing ? { ping: 1, evidence: { pingBy: 'icmp' } } : { ping: null }),
        ssh: null,
      });
      for (const socket of sockets) socket.destroy();
    });

    it('the steps after loading are repeated alone; if they fail, the machine says so until they succeed', async () => {
      const { add, operate, onMachine, calls } = ground;
      await add('posted');
      await operate('posted', { kind: 'load', image: host });
      const only = { kind: 'load', image: host, only: 'post-load', withinMs: 15_000 } as const;
      expect((await operate('posted', only)).operation).toMatchObject({
        answer: 'done',
        result: { did: 'post-load' },
      });
      const other = { name: 'other', revision: '1' };
      const refused = await operate('posted', { ...only, image: other });
      expect(refused.operation).toMatchObject({ answer: 'not done', failure: { action: 'NODE_STATUS' } });
      expect(refused.machine).toMatchObject({ state: 'available', image: host });
      // A file that is mounted cannot be replaced.
      await onMachine('posted', 'mount --bind /root/currentimage.txt /root/currentimage.txt');
      const failed = await operate('posted', only);
      expect(failed.operation).toMatchObject({ state: 'failed', failure: { action: 'POST_LOAD' } });
      expect(failed.machine).toMatchObject({
        state: 'failed',
        why: expect.stringMatching(/it has host@1, and the steps after loading failed: .*--only post-load/),
      });
      await onMachine('posted', 'umount /root/currentimage.txt');
      const { machine, operation } = await operate('posted', only);
      expect(operation.failure).toBeUndefined();
      expect(machine).toMatchObject({ state: 'available', image: host });
      expect(machine.why).toBeUndefined();
      expect(await calls('load', 'posted')).toHaveLength(1);
    });

    it('files that were created, changed and deleted are so after a load, also on top of another image; the host is unchanged', async () => {
      const { add, operate, onMachine } = ground;
      await Promise.all([add('maker'), add('taker')]);
      await operate('maker', { kind: 'load', image: host });
      await onMachine(
        'maker',
        'echo one >/opt/made; rm -f /etc/hostname.bak /etc/issue; echo changed >/etc/motd; id=$(cat /etc/machine-id); echo "$id" >/root/before',
      );
      const first = { name: 'layered', revision: '1' };
      expect(
        (await operate('maker', { kind: 'capture', image: first, prove: true })).operation.failure,
      ).toBeUndefined();

      await onMachine('maker', 'echo two >>/opt/made');
      const second = { name: 'layered', revision: '2' };
      expect(
        (await operate('maker', { kind: 'capture', image: second, prove: true })).operation.failure,
      ).toBeUndefined();

      expect((await operate('taker', { kind: 'load', image: second })).operation.failure).toBeUndefined();
      const look =
        'cat /opt/made /etc/motd | tr "\\n" " "; test -e /etc/issue && echo issue; hostname; grep imagerevision_id /root/currentimage.txt';
      expect(await onMachine('taker', look)).toBe('one two changed machine-taker\nimagerevision_id=2');
      // Back to the one before it: a load is a load.
      expect((await operate('taker', { kind: 'load', image: first })).operation.result).toMatchObject({
        did: 'everything',
        status: { status: 'RELOAD', why: 'it has revision 2, not 1' },
      });
      expect(await onMachine('taker', look)).toBe('one changed machine-taker\nimagerevision_id=1');
      expect(existsSync('/opt/made')).toBe(false);
      // An image that a machine has is not deleted.
      await expect(stack.service.call('DELETE', '/v1/images/layered@1')).rejects.toThrow(/409.*in use/s);
    });
  },
);
