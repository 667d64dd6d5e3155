import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Stack, startStack } from '../../harness/stack.js';
import { buildRack, noEmulators, type Rack } from '../../harness/bmc/racks.js';
import { type Ground, host, openGround } from '../../harness/machine/ground.js';

const mebibyte = 2 ** 20;

describe.skipIf(noEmulators !== undefined)(
  `erasure between users${noEmulators === undefined ? '' : ` (left out: ${noEmulators})`}`,
  () => {
    let stack: Stack;
    let rack: Rack;
    let ground: Ground;
    const disks: Record<string, string> = {};
    /** While it exists, the command of the second disk fails. */
    let broken: string;

    beforeAll(async () => {
      const accounts: Record<string, object | 'service'> = {};
      stack = await startStack({ accounts });
      const folder = join(stack.folder, 'disks');
      await mkdir(folder, { mode: 0o777 });
      await chmod(stack.folder, 0o755);
      broken = join(folder, 'broken');
      for (const name of ['first', 'second']) disks[name] = join(folder, name);
      rack = await buildRack(stack.service, stack.folder, ['kept'], {
        erase: [
          { device: disks['first'], method: 'overwrite' },
          {
            device: disks['second'],
            method: 'command',
            command: [
              'sh',
              '-c',
              `[ ! -e "$2" ] && truncate -s 0 "$1" && truncate -s ${mebibyte} "$1"`,
              'sh',
              '{device}',
              broken,
            ],
          },
        ],
      });
      accounts['rack'] = { type: 'ipmi', fields: rack.fields };
      await stack.startWorker();
      ground = openGround(stack);
      await ground.add('kept', { provider: 'rack', fields: { machine: 'kept' } });
      await ground.operate('kept', { kind: 'load', image: host });
    });
    afterAll(async () => {
      await rack.stop();
      await stack.stop();
    });

    const fill = async (): Promise<void> => {
      for (const disk of Object.values(disks)) {
        await writeFile(disk, Buffer.alloc(mebibyte, 'private '));
        await chmod(disk, 0o666);
      }
    };
    const isErased = async (name: string): Promise<boolean> =>
      (await readFile(disks[name] ?? '')).every((byte) => byte === 0);

    it('UNLOAD erases each disk, and the machine shows the proof', async () => {
      await fill();
      const { operation, machine } = await ground.operate('kept', { kind: 'unload' });
      expect(operation.failure).toBeUndefined();
      expect(machine.state).toBe('available');
      expect(machine.unerased).toBeUndefined();
      expect(machine.erasure?.disks).toMatchObject([
        { device: disks['first'], method: 'overwrite', bytes: mebibyte, samples: 1, zeros: 1 },
        { device: disks['second'], method: 'command', bytes: mebibyte, samples: 1, zeros: 1 },
      ]);
      expect([await isErased('first'), await isErased('second')]).toEqual([true, true]);
    });

    it('a failed erasure holds the machine until another one succeeds', async () => {
      await fill();
      await writeFile(broken, '');
      const failed = await ground.operate('kept', { kind: 'unload' });
      expect(failed.operation).toMatchObject({ state: 'failed', failure: { action: 'ERASE' } });
      expect(failed.machine).toMatchObject({
        state: 'maintenance',
        unerased: true,
        why: expect.stringContaining('command of'),
      });
      await expect(ground.operate('kept', { kind: 'restore' })).rejects.toThrow(/were not erased/);
      await expect(ground.operate('kept', { kind: 'reserve', user: 'ada' })).rejects.toThrow();
      // A load does not make it available either: it erases them by the programs of the new system.
      const load = { kind: 'load', image: host, force: true } as const;
      expect(await ground.operate('kept', load)).toMatchObject({
        operation: { state: 'failed', failure: { action: 'ERASE' } },
        machine: { state: 'failed', unerased: true },
      });
      await rm(broken);
      const loaded = await ground.operate('kept', load);
      expect(loaded.operation.failure).toBeUndefined();
      expect(loaded.machine.state).toBe('available');
      expect(loaded.machine.unerased).toBeUndefined();
      expect([await isErased('first'), await isErased('second')]).toEqual([true, true]);
    });

    it('the load after a user erases the disks; a load without a user leaves them alone', async () => {
      await fill();
      await ground.operate('kept', { kind: 'load', image: host, force: true });
      expect(await isErased('first')).toBe(false);
      await ground.operate('kept', { kind: 'reserve', user: 'ada' });
      await ground.operate('kept', { kind: 'log in', user: 'ada' });
      const { machine } = await ground.operate('kept', { kind: 'load', image: host });
      expect(machine.state).toBe('available');
      expect([await isErased('first'), await isErased('second')]).toEqual([true, true]);
    });
  },
);
