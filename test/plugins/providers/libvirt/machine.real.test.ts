import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../../src/model/json.js';
import type { CreateInput, ImageInput } from '../../../../src/plugins/contract.js';
import { identify } from '../../../../src/plugins/providers/libvirt/identity.js';
import { machine, provider } from './support/account.js';
import { libvirtIsMissing, startLibvirtd, type Libvirtd } from './support/libvirtd.js';
import { watchVirsh, type WatchedVirsh } from './support/watched-virsh.js';

const missing = libvirtIsMissing();
const words = (text: string): string => execFileSync('sh', ['-ec', text], { encoding: 'utf8' });
const ignore = (): void => undefined;

let tokens = 0;
function order(input: CreateInput, providerImage: string, more: Partial<ImageInput> = {}): ImageInput {
  tokens += 1;
  return {
    key: input.key,
    tags: input.tags,
    fields: {},
    image: { name: providerImage, revision: '1' },
    providerImage,
    token: `token ${tokens} of/a test`,
    progress: ignore,
    ...more,
  };
}

describe.skipIf(missing !== undefined)(
  `machines and images of a real libvirtd${missing === undefined ? '' : ` (${missing})`}`,
  () => {
    let libvirtd: Libvirtd;
    let virsh: WatchedVirsh;
    let fields: JsonObject;
    beforeAll(async () => {
      libvirtd = await startLibvirtd();
      virsh = watchVirsh(libvirtd.folder);
      fields = {
        uri: libvirtd.test,
        program: virsh.program,
        pool: 'default-pool',
        hypervisor: 'test',
        cloudInit: false,
        libraries: ['shelf', 'cellar'],
        readEveryMs: 50,
      };
      for (const pool of ['shelf', 'cellar'])
        libvirtd.virsh(libvirtd.test, 'pool-create-as', pool, 'dir', '--target', `/${pool}`);
      libvirtd.virsh(libvirtd.test, 'vol-create-as', 'default-pool', 'other@1', '3G', '--format', 'qcow2');
    });
    afterAll(() => libvirtd?.close());

    const volumes = (): readonly string[] =>
      libvirtd
        .virsh(libvirtd.test, 'vol-list', 'default-pool')
        .split('\n')
        .flatMap((line) => line.trim().split(/\s+/)[0] || [])
        .toSorted();
    const changes = (): readonly string[] =>
      virsh
        .commands()
        .filter((word) =>
          [
            'start',
            'destroy',
            'shutdown',
            'reset',
            'define',
            'vol-create',
            'vol-create-from',
            'vol-delete',
          ].includes(word),
        );
    /** A machine that is switched off, or on; and gone in the end. */
    const withMachine = async (
      power: 'on' | 'off',
      use: (input: CreateInput) => Promise<void>,
    ): Promise<void> => {
      const input = machine();
      await provider(fields).create(input);
      if (power === 'off') await provider(fields).powerOff(input);
      virsh.commands();
      try {
        await use(input);
      } finally {
        virsh.end();
        await provider(fields).delete(input);
      }
      expect(volumes().filter((name) => name.startsWith(identify(input.key).name))).toEqual([]);
    };

    test('power commands look first and do nothing if nothing is needed; a reset ends with the machine on', () =>
      withMachine('on', async (input) => {
        const act = (verb: 'powerOn' | 'powerOff' | 'powerReset') => provider(fields)[verb](input);
        expect(await provider(fields).powerStatus(input)).toEqual({ power: 'on' });
        expect([await act('powerOn'), changes()]).toEqual([{ answer: 'done' }, []]);
        expect([await act('powerOff'), changes()]).toEqual([{ answer: 'done' }, ['shutdown']]);
        expect(await provider(fields).powerStatus(input)).toEqual({ power: 'off' });
        expect([await act('powerOff'), changes()]).toEqual([{ answer: 'done' }, []]);
        expect([await act('powerReset'), changes()]).toEqual([{ answer: 'done' }, ['start']]);
        expect([await act('powerReset'), changes()]).toEqual([{ answer: 'done' }, ['reset']]);
        const hard = { ...fields, shutDownSeconds: 0 };
        expect([await provider(hard).powerOff(input), changes()]).toEqual([{ answer: 'done' }, ['destroy']]);
      }));

    test('neither a missing libvirt nor an unknown machine has a power state', async () => {
      const away = { ...fields, uri: `test+unix:///default?socket=${libvirtd.folder}/nowhere` };
      await withMachine('on', async (input) => {
        await expect(provider(away).powerStatus(input)).rejects.toMatchObject({ kind: 'Retryable' });
        await expect(provider(away).imageExists(order(input, 'base'))).rejects.toMatchObject({
          kind: 'Retryable',
        });
      });
      await expect(provider(fields).powerOn(machine())).rejects.toMatchObject({ kind: 'Invalid' });
      expect(await provider(fields).load(order(machine(), 'base'))).toMatchObject({
        answer: 'not done',
        why: expect.stringContaining('does not have a domain'),
      });
      expect(await provider(fields).capture(order(machine(), 'new@1'))).toMatchObject({
        answer: 'not done',
        why: expect.stringContaining('does not have a domain'),
      });
    });

    test('a load gives the machine a new disk of the image, once for its token, and deletes the old one', () =>
      withMachine('off', async (input) => {
        expect(await provider(fields).assignedImage(input)).toBe('base');
        const load = order(input, 'other@1');
        expect(await provider(fields).load(load)).toEqual({ answer: 'done' });
        const { disk, name } = identify(input.key, load.token);
        expect(volumes().filter((volume) => volume.startsWith(name))).toEqual([disk]);
        expect(libvirtd.virsh(libvirtd.test, 'vol-dumpxml', '--pool', 'default-pool', disk)).toMatch(
          /3221225472[\s\S]*<backingStore>\s*<path>\/default-pool\/other@1</,
        );
        expect(libvirtd.virsh(libvirtd.test, 'dumpxml', name)).toContain(`volume='${disk}'`);
        expect(await provider(fields).assignedImage(input)).toBe('other@1');
        expect(changes()).toEqual(['vol-create', 'define', 'vol-delete']);
        expect([await provider(fields).load(load), changes()]).toEqual([{ answer: 'done' }, []]);
        // Its disk stays as large as it was.
        const back = order(input, 'base');
        await provider(fields).load(back);
        expect(
          libvirtd.virsh(
            libvirtd.test,
            'vol-dumpxml',
            '--pool',
            'default-pool',
            identify(input.key, back.token).disk,
          ),
        ).toContain('3221225472');
        expect(await provider(fields).find(input.key)).toMatchObject([
          { key: input.key, tags: input.tags, state: 'stopped' },
        ]);
      }));

    const disks = ({ key }: CreateInput): readonly string[] =>
      volumes().filter((volume) => volume.startsWith(identify(key).name));
    const backing = (disk = ''): string =>
      libvirtd.virsh(libvirtd.test, 'vol-dumpxml', '--pool', 'default-pool', disk);

    test.each(['on', 'off'] as const)(
      'an unload gives a machine that is %s a new disk of its image, and leaves its power as it was',
      (power) =>
        withMachine(power, async (input) => {
          const before = disks(input);
          expect(await provider(fields).unload(input)).toEqual({ answer: 'done' });
          expect(changes()).toEqual([
            'vol-create',
            'define',
            ...(power === 'on' ? ['destroy', 'start'] : []),
            'vol-delete',
          ]);
          const after = disks(input);
          expect(after).toHaveLength(1);
          expect(after).not.toEqual(before);
          expect(backing(after[0])).toMatch(/<backingStore>\s*<path>\/default-pool\/base</);
          expect(await provider(fields).assignedImage(input)).toBe('base');
          expect(await provider(fields).powerStatus(input)).toEqual({ power });
          expect(await provider(fields).unload(input)).toEqual({ answer: 'done' });
          expect(disks(input)).not.toEqual(after);
          expect(await provider(fields).powerStatus(input)).toEqual({ power });
        }),
    );

    test.each(['question', 'answer'] as const)(
      'an unload ends with a new disk and the same power, whichever %s of virsh is lost',
      async (what) => {
        for (const power of ['on', 'off'] as const)
          for (let nth = 1, wasLost = true; wasLost; nth += 1)
            await withMachine(power, async (input) => {
              const used = (): string | undefined =>
                /volume='([^']+)'/.exec(
                  libvirtd.virsh(libvirtd.test, 'dumpxml', '--inactive', identify(input.key).name),
                )?.[1];
              const before = used();
              virsh.lose(nth, what);
              const first = await provider(fields)
                .unload(input)
                .catch((error: unknown) => error);
              wasLost = virsh.end();
              if (!wasLost) expect(first).toEqual({ answer: 'done' });
              expect(first).not.toMatchObject({ answer: 'not done' });
              // The machine may have been used after the interruption.
              const between = used();
              expect(await provider(fields).unload(input)).toEqual({ answer: 'done' });
              const after = disks(input);
              expect(after).toHaveLength(1);
              expect([before, between]).not.toContain(after[0]);
              expect(after[0]).toBe(used());
              expect(await provider(fields).powerStatus(input)).toEqual({ power });
            });
      },
    );

    test('neither a running machine nor a missing image leads to a disk change', () =>
      withMachine('on', async (input) => {
        expect(await provider(fields).load(order(input, 'other@1'))).toMatchObject({
          answer: 'not done',
          why: expect.stringContaining('switch it off'),
        });
        expect(await provider(fields).capture(order(input, 'new@1'))).toMatchObject({
          answer: 'not done',
          why: expect.stringContaining('switch it off'),
        });
        await provider(fields).powerOff(input);
        changes();
        await expect(provider(fields).load(order(input, 'none@1'))).rejects.toMatchObject({
          kind: 'ImageUnusable',
          message: expect.stringContaining('is not a volume of storage pool'),
        });
        await expect(provider(fields).load(order(input, '--help'))).rejects.toMatchObject({
          kind: 'Invalid',
          message: expect.stringContaining('is not a valid volume name'),
        });
        expect(changes()).toEqual([]);
      }));

    test('a capture creates a whole image, once for its token, and never over an existing one', () =>
      withMachine('off', async (input) => {
        const capture = order(input, 'captured@1');
        expect(await provider(fields).imageExists(capture)).toEqual({ is: 'no' });
        expect(await provider(fields).capture(capture)).toEqual({ answer: 'done' });
        expect(await provider(fields).imageExists(capture)).toEqual({ is: 'yes' });
        expect(await provider(fields).imageSize(capture)).toEqual({ sizeMb: 1_024 });
        expect(
          libvirtd.virsh(libvirtd.test, 'vol-dumpxml', '--pool', 'default-pool', 'captured@1'),
        ).not.toContain('backingStore');
        expect(changes()).toEqual(['vol-create-from']);
        expect([await provider(fields).capture(capture), changes()]).toEqual([{ answer: 'done' }, []]);
        expect(await provider(fields).capture(order(input, 'captured@1'))).toMatchObject({
          answer: 'not done',
          why: expect.stringContaining('already'),
        });
        libvirtd.virsh(libvirtd.test, 'vol-delete', '--pool', 'default-pool', 'captured@1');
        expect(await provider(fields).capture(capture)).toMatchObject({
          answer: 'not done',
          why: expect.stringContaining('was created and then deleted'),
        });
        expect(changes()).toEqual([]);
      }));

    test('names the searched libraries if an image is missing; an existing image is not searched', () =>
      withMachine('on', async (input) => {
        expect(await provider(fields).retrieveImage(order(input, 'none@1'))).toMatchObject({
          answer: 'not done',
          why: expect.stringContaining('shelf, cellar'),
        });
        expect(
          await provider({ ...fields, libraries: [] }).retrieveImage(order(input, 'none@1')),
        ).toMatchObject({ answer: 'not done', why: expect.stringContaining('has no libraries') });
        expect(await provider(fields).retrieveImage(order(input, 'other@1'))).toEqual({ answer: 'done' });
        expect(changes()).toEqual([]);
      }));

    test('on QEMU: an image is retrieved from the library with the most complete copy of it', async () => {
      const [stock, partial, full] = ['stock', 'partial', 'full'].map((name) => {
        const folder = join(libvirtd.folder, name);
        mkdirSync(folder);
        return folder;
      }) as [string, string, string];
      words(
        `cd '${full}' && head -c 4M /dev/urandom >raw && qemu-img convert -O qcow2 raw spread@1 && rm raw && qemu-img create -q -f qcow2 '${partial}/spread@1' 4M && qemu-img create -q -f qcow2 '${stock}/base' 1M`,
      );
      for (const name of ['stock', 'partial', 'full'])
        libvirtd.virsh(
          libvirtd.qemu,
          ...['pool-create-as', name, 'dir', '--target', join(libvirtd.folder, name)],
        );
      const real = {
        uri: libvirtd.qemu,
        pool: 'stock',
        libraries: ['partial', 'full'],
        bridge: libvirtd.bridge,
        hypervisor: 'qemu',
        cloudInit: false,
      };
      const input = machine();
      await provider(real).create(input);
      expect(await provider(real).retrieveImage(order(input, 'spread@1'))).toEqual({ answer: 'done' });
      expect(words(`qemu-img compare '${stock}/spread@1' '${full}/spread@1'`)).toContain('identical');
      await provider(real).delete(input);
    });

    test.each(['question', 'answer'] as const)(
      'a load and a capture continue, whichever %s of virsh is lost',
      async (what) => {
        let lost = 0;
        await withMachine('off', async (input) => {
          for (let number = 1, met = true; met; number += 1) {
            const [load, capture] = [
              order(input, number % 2 === 0 ? 'base' : 'other@1'),
              order(input, `lost-${what}@${number}`),
            ];
            const { disk, name } = identify(input.key, load.token);
            virsh.lose(number, what);
            await provider(fields)
              .load(load)
              .catch((error: unknown) => expect(error).toMatchObject({ kind: 'Retryable' }));
            met = virsh.end();
            expect(await provider(fields).load(load)).toEqual({ answer: 'done' });
            expect(volumes().filter((volume) => volume.startsWith(name))).toEqual([disk]);
            expect(await provider(fields).assignedImage(input)).toBe(load.providerImage);
            virsh.lose(number, what);
            await provider(fields)
              .capture(capture)
              .catch((error: unknown) => expect(error).toMatchObject({ kind: 'Retryable' }));
            met = virsh.end() || met;
            expect(await provider(fields).capture(capture)).toEqual({ answer: 'done' });
            expect(await provider(fields).imageExists(capture)).toEqual({ is: 'yes' });
            libvirtd.virsh(libvirtd.test, 'vol-delete', '--pool', 'default-pool', capture.providerImage);
            if (met) lost += 1;
          }
        });
        expect(lost).toBeGreaterThanOrEqual(6);
        expect(volumes()).toEqual(['base', 'other@1']);
      },
      600_000,
    );

    test('on QEMU: an interrupted capture ends as a whole image, equal to the disk byte for byte', async () => {
      const [pool, cellar] = ['images', 'cellar'].map((name) => {
        const folder = join(libvirtd.folder, name);
        mkdirSync(folder);
        libvirtd.virsh(libvirtd.qemu, 'pool-create-as', name, 'dir', '--target', folder);
        return folder;
      }) as [string, string];
      words(
        `cd '${pool}' && head -c 96M /dev/urandom >raw && qemu-img convert -O qcow2 raw base && rm raw && qemu-img create -q -f qcow2 -b '${pool}/base' -F qcow2 '${cellar}/rare@1'`,
      );
      for (const name of ['images', 'cellar']) libvirtd.virsh(libvirtd.qemu, 'pool-refresh', name);
      const real = {
        uri: libvirtd.qemu,
        program: virsh.program,
        pool: 'images',
        libraries: ['cellar'],
        bridge: libvirtd.bridge,
        hypervisor: 'qemu',
        addressFrom: 'fixed',
        addresses: { 'app-1': '10.0.0.7' },
        shutDownSeconds: 0.1,
        readEveryMs: 50,
        publicKeys: ['ssh-ed25519 AAAA me'],
      };
      const input = machine();
      await provider(real).create(input);
      changes();
      // It has no system that could listen.
      expect([await provider(real).powerOff(input), changes()]).toEqual([
        { answer: 'done' },
        ['shutdown', 'destroy'],
      ]);
      const old = identify(input.key);
      words(`qemu-io -c 'write -P 7 1M 3M' '${join(pool, old.disk)}'`);
      const capture = order(input, 'work@1');
      const cut = new AbortController();
      await expect(
        provider(real, cut.signal).capture({
          ...capture,
          progress: () => setImmediate(() => cut.abort(new Error('the worker died'))),
        }),
      ).rejects.toThrow('the worker died');
      expect(await provider(real).capture(capture)).toEqual({ answer: 'done' });
      const isFlatCopy = (disk: string, image: string): void => {
        expect(words(`cd '${pool}' && qemu-img compare '${disk}' '${image}'`)).toContain(
          'Images are identical',
        );
        expect(JSON.parse(words(`qemu-img info --output=json '${join(pool, image)}'`))).not.toHaveProperty(
          'backing-filename',
        );
      };
      isFlatCopy(old.disk, 'work@1');
      expect(await provider(real).imageSize(capture)).toMatchObject({ sizeMb: expect.any(Number) });
      // A library's image may be a layer itself; the copy is whole.
      for (const _time of ['once', 'again'])
        expect(await provider(real).retrieveImage(order(input, 'rare@1'))).toEqual({ answer: 'done' });
      isFlatCopy('base', 'rare@1');

      const load = order(input, 'work@1');
      expect(await provider(real).load(load)).toEqual({ answer: 'done' });
      const { disk, seed, log } = identify(input.key, load.token);
      expect(words(`ls '${pool}'`).trim().split('\n').toSorted()).toEqual(
        ['base', 'rare@1', 'work@1', disk, seed, log].toSorted(),
      );
      expect(words(`mcopy -n -i '${join(pool, seed)}' ::meta-data -`)).toContain(
        `"instance-id":"${old.uuid}-`,
      );
      expect(await provider(real).powerOn(input)).toEqual({ answer: 'done' });
      await provider(real).delete(input);
      expect(words(`ls '${pool}'`)).toBe('base\nrare@1\nwork@1\n');
    }, 600_000);
  },
);
