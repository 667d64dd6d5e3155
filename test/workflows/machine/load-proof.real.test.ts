import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildRack, noEmulators, type Rack } from '../../harness/bmc/racks.js';
import { type Ended, type Ground, openGround } from '../../harness/machine/ground.js';
import type { MachineRequestIntent } from '../../../src/model/machine/intents.js';
import { type Stack, startStack } from '../../harness/stack.js';

const web = { name: 'web', revision: '1' } as const;
const base = { name: 'base', revision: '1' } as const;

describe.skipIf(noEmulators !== undefined)(
  `the proof of a load${noEmulators === undefined ? '' : ` (left out: ${noEmulators})`}`,
  () => {
    let stack: Stack;
    let rack: Rack;
    let ground: Ground;
    const names = ['same', 'other', 'bare', 'dark', 'dim', 'blank', 'full', 'plain', 'source', 'studio'];
    const captured = new Set(['source', 'studio']);

    beforeAll(async () => {
      const accounts: Record<string, object | 'service'> = {};
      stack = await startStack({ accounts });
      rack = await buildRack(stack.service, stack.folder, names);
      const { imager, ...fields } = rack.fields as {
        readonly imager: Readonly<Record<string, readonly string[]>> & { readonly load: readonly string[] };
      };
      const answer = ['sh', '-c', 'echo 1'];
      // Every image is the empty one of the service. A machine that has a file of its name is not written.
      const write = imager.load.map((word) => (word === '{providerImage}' ? 'host' : word));
      const load = ['sh', '-c', `[ -e ${stack.folder}/skip-$HEDDLE_MACHINE ] && exit 0; exec "$@"`, 'sh'];
      accounts['rack'] = {
        type: 'ipmi',
        fields: { ...fields, imager: { exists: answer, size: answer, load: [...load, ...write] } },
      };
      accounts['studio'] = {
        type: 'ipmi',
        fields: { ...fields, imager: { ...imager, load: [...load, ...imager.load] } },
      };
      await stack.startWorker();
      ground = openGround(stack);
      await Promise.all(
        names.map((name) =>
          ground.add(name, {
            provider: captured.has(name) ? 'studio' : 'rack',
            fields: { machine: name },
            system: name === 'plain' ? null : 'linux',
          }),
        ),
      );
    });
    afterAll(async () => {
      await rack.stop();
      await stack.stop();
    });

    /** An operation whose program for loads writes nothing and ends with 0. */
    async function withoutWrite(name: string, intent: MachineRequestIntent): Promise<Ended> {
      const skip = join(stack.folder, `skip-${name}`);
      await writeFile(skip, '');
      const ended = await ground.operate(name, intent);
      await rm(skip);
      return ended;
    }

    function skipLoad(name: string, image: typeof web | typeof base): Promise<Ended> {
      return withoutWrite(name, { kind: 'load', image, force: true });
    }

    async function refuses(ended: Ended, message: RegExp, state = 'failed'): Promise<void> {
      expect(ended.operation).toMatchObject({
        state: 'failed',
        answer: 'not done',
        failure: { action: 'CHECK_MARK', message: expect.stringMatching(message) },
      });
      expect(ended.machine.state).toBe(state);
    }

    it.concurrent('fails if the machine boots the old disk with the same image', async () => {
      const first = await ground.operate('same', { kind: 'load', image: web });
      expect(first.operation.failure).toBeUndefined();
      await refuses(await skipLoad('same', web), /still has the mark of this load/);
      // The first load left its mark on the old disk: a true one replaces it.
      const again = await ground.operate('same', { kind: 'load', image: web });
      expect(again.operation).toMatchObject({ state: 'done', result: { did: 'everything' } });
    });

    it.concurrent('fails if the old disk has another image of the same revision', async () => {
      await ground.operate('other', { kind: 'load', image: web });
      await refuses(await skipLoad('other', base), /still has the mark of this load/);
    });

    it.concurrent('fails if the old disk has no record, which the steps after loading would write', async () => {
      await refuses(await skipLoad('bare', web), /still has the mark of this load/);
      expect(await ground.onMachine('bare', 'ls "$HOME"')).not.toContain('currentimage.txt');
    });

    it.concurrent('fails if the old disk of a machine that was off has a record', async () => {
      await ground.operate('dark', { kind: 'load', image: web });
      await ground.operate('dark', { kind: 'power', verb: 'off' });
      await refuses(await skipLoad('dark', base), /says that it has web@1, not base@1/);
      await ground.operate('dim', { kind: 'load', image: web });
      await ground.operate('dim', { kind: 'power', verb: 'off' });
      await refuses(await skipLoad('dim', web), /still has the mark of this load/);
    });

    it.concurrent('fails if the old disk of a machine that was off has no record', async () => {
      await ground.operate('blank', { kind: 'power', verb: 'off' });
      await refuses(await skipLoad('blank', web), /still has the mark of this load/);
      expect(await ground.onMachine('blank', 'ls "$HOME"')).not.toContain('currentimage.txt');
    });

    it.concurrent('fails if a machine without a system plugin boots the old disk', async () => {
      await refuses(await skipLoad('plain', web), /still has the mark of this load/);
      const { operation } = await ground.operate('plain', { kind: 'load', image: web });
      expect(operation).toMatchObject({ state: 'done', result: { did: 'everything' } });
    });

    it.concurrent('writes a machine twice if it could not be marked before', async () => {
      await ground.operate('full', { kind: 'power', verb: 'off' });
      const { operation, machine } = await ground.operate('full', { kind: 'load', image: web });
      expect(operation).toMatchObject({
        state: 'done',
        notes: [expect.stringMatching(/so the image is written a second time/)],
      });
      expect(machine).toMatchObject({ state: 'available', image: web });
      expect(await ground.calls('load', 'full')).toHaveLength(2);
    });

    it.concurrent('fails for a captured image if the machine boots the disk that it was captured of', async () => {
      const capture = (name: string): MachineRequestIntent => ({
        kind: 'capture',
        image: { name, revision: '1' },
        prove: true,
      });
      const unproved = await withoutWrite('source', capture('unproved'));
      await refuses(unproved, /still has the mark of this load/, 'maintenance');
      const { operation, machine } = await ground.operate('studio', capture('proved'));
      expect(operation).toMatchObject({ state: 'done', notes: [] });
      expect(machine).toMatchObject({ state: 'available', image: { name: 'proved' } });
      expect(await ground.calls('load', 'studio')).toHaveLength(1);
    });
  },
);
