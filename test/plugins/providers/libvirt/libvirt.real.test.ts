import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../../src/model/json.js';
import { identify } from '../../../../src/plugins/providers/libvirt/identity.js';
import { machine, provider } from './support/account.js';
import { libvirtIsMissing, startLibvirtd, type Libvirtd } from './support/libvirtd.js';
import { watchVirsh } from './support/watched-virsh.js';

const missing = libvirtIsMissing();
const words = (text: string): string => execFileSync('sh', ['-ec', text], { encoding: 'utf8' });

describe.skipIf(missing !== undefined)(
  `a real libvirtd${missing === undefined ? '' : ` (${missing})`}`,
  () => {
    let libvirtd: Libvirtd;
    let driver: JsonObject;
    beforeAll(async () => {
      libvirtd = await startLibvirtd();
      driver = { uri: libvirtd.test, pool: 'default-pool', hypervisor: 'test', cloudInit: false };
    });
    afterAll(() => libvirtd?.close());

    test('on QEMU: a disk with the differences from its base, a seed disk, unchanged power; all of it removed at the end', async () => {
      const pool = join(libvirtd.folder, 'pool');
      words(`mkdir '${pool}'`);
      libvirtd.virsh(libvirtd.qemu, 'pool-create-as', 'disks', 'dir', '--target', pool);
      libvirtd.virsh(libvirtd.qemu, 'vol-create-as', 'disks', 'base', '100M', '--format', 'qcow2');
      const fields = {
        uri: libvirtd.qemu,
        pool: 'disks',
        bridge: libvirtd.bridge,
        hypervisor: 'qemu',
        addressFrom: 'fixed',
        addresses: { 'app-1': '10.0.0.7' },
        user: 'debian',
        hostKeySecret: 'a secret of the test that is long enough',
        publicKeys: ['ssh-ed25519 AAAA me'],
      };
      const input = machine({ flavor: '1x64mx1g' });
      const { name, uuid, disk, seed, mac } = identify(input.key);
      expect(await provider(fields).create(input)).toEqual({
        result: { providerid: uuid, 'ssh-auth': { user: 'debian' } },
      });

      const info = JSON.parse(words(`qemu-img info -U --output=json '${join(pool, disk)}'`)) as JsonObject;
      expect(info).toMatchObject({
        'virtual-size': 1_024 ** 3,
        'backing-filename': join(pool, 'base'),
        'backing-filename-format': 'qcow2',
      });
      expect(words(`mcopy -n -i '${join(pool, seed)}' ::user-data -`)).toMatch(
        /"hostname":"web-app-1".*"ssh-ed25519 AAAA me".*ed25519_private/,
      );
      expect(libvirtd.virsh(libvirtd.qemu, 'dumpxml', name)).toContain(mac);
      const confirmed = await provider(fields).confirm({ ...input, providerid: uuid });
      expect(confirmed).toMatchObject({
        result: {
          ipaddress: '10.0.0.7',
          'ssh-port': 22,
          'ssh-auth': { user: 'debian' },
          'ssh-host-key': [expect.stringMatching(/^ssh-ed25519 /)],
        },
      });

      libvirtd.virsh(libvirtd.qemu, 'destroy', name);
      expect(await provider(fields).list({ 'heddle-cluster': 'web & <"co">' })).toMatchObject([
        { providerid: uuid, key: input.key, state: 'stopped' },
      ]);
      await expect(provider(fields).confirm({ ...input, providerid: uuid })).rejects.toMatchObject({
        kind: 'NotReady',
      });
      await provider(fields).create(input);
      expect(await provider(fields).find(input.key)).toMatchObject([{ providerid: uuid, state: 'running' }]);

      // Of a machine whose DELETE could not see it.
      words(`touch '${join(pool, identify('deleted earlier').log)}.1'`);
      for (const _time of ['once', 'again']) await provider(fields).delete(input);
      expect(libvirtd.virsh(libvirtd.qemu, 'list', '--all', '--name').trim()).toBe('');
      expect(words(`ls '${pool}'`)).toBe('base\n');
    }, 600_000);

    test('creates and deletes one machine for a key, whichever answer of virsh is lost', async () => {
      const virsh = watchVirsh(libvirtd.folder);
      const fields = { ...driver, program: virsh.program };
      let lost = 0;
      for (let number = 1, met = true; met; number += 1) {
        const input = machine();
        virsh.lose(number, 'answer');
        await provider(fields)
          .create(input)
          .catch((error: unknown) => expect(error).toMatchObject({ kind: 'Retryable' }));
        met = virsh.end();
        await provider(fields).create(input);
        expect(await provider(fields).find(input.key)).toHaveLength(1);
        virsh.lose(number, 'answer');
        await provider(fields)
          .delete(input)
          .catch((error: unknown) => expect(error).toMatchObject({ kind: 'Retryable' }));
        met = virsh.end() || met;
        await provider(fields).delete(input);
        expect(await provider(fields).find(input.key)).toEqual([]);
        expect(libvirtd.virsh(libvirtd.test, 'vol-list', 'default-pool').trim()).toMatch(/^base\s+\S+$/);
        if (met) lost += 1;
      }
      expect(lost).toBeGreaterThanOrEqual(5);
    }, 600_000);

    test('lists every machine of which a cut CREATE or DELETE left volumes, so that the sweep deletes them', async () => {
      const virsh = watchVirsh(libvirtd.folder);
      const fields = { ...driver, program: virsh.program };
      const tags = { 'heddle-installation': 'a-uuid' };
      const left = { create: 0, delete: 0 };
      const expectListed = async (action: keyof typeof left): Promise<void> => {
        const volumes = libvirtd.virsh(libvirtd.test, 'vol-list', 'default-pool').trim().split('\n');
        if (volumes.length === 1) return;
        left[action] += 1;
        expect(await provider(driver).list(tags)).toHaveLength(1);
      };
      for (let number = 1, met = true; met; number += 1) {
        const input = { ...machine(), tags };
        virsh.lose(number, 'answer');
        await provider(fields)
          .create(input)
          .catch(() => undefined);
        met = virsh.end();
        await expectListed('create');
        await provider(driver).create(input);
        virsh.lose(number, 'answer');
        await provider(fields)
          .delete(input)
          .catch(() => undefined);
        met = virsh.end() || met;
        await expectListed('delete');
        await provider(driver).delete(input);
        expect(libvirtd.virsh(libvirtd.test, 'vol-list', 'default-pool').trim()).toMatch(/^base\s+\S+$/);
      }
      expect(left.create).toBeGreaterThanOrEqual(3);
      expect(left.delete).toBeGreaterThanOrEqual(2);
    }, 600_000);

    test('treats neither a missing daemon nor an invalid answer as absence', async () => {
      const input = machine();
      await provider(driver).create(input);
      const garbage = join(libvirtd.folder, 'garbage');
      writeFileSync(garbage, '#!/bin/sh\necho "<html>Maintenance</html>"\n', { mode: 0o755 });
      const silence = join(libvirtd.folder, 'silence');
      writeFileSync(silence, '#!/bin/sh\nexit 0\n', { mode: 0o755 });
      for (const fields of [
        { ...driver, uri: `test+unix:///default?socket=${libvirtd.folder}/nowhere` },
        { ...driver, program: garbage },
        { ...driver, program: silence },
      ]) {
        const asked = (): ReturnType<typeof provider> => provider(fields);
        const calls = [
          () => asked().create(machine()),
          () => asked().confirm(input),
          () => asked().delete(input),
          () => asked().list({}),
          () => asked().find(input.key),
        ];
        for (const call of calls) await expect(call()).rejects.toMatchObject({ kind: 'Retryable' });
      }
      await expect(provider({ ...driver, pool: 'no-such-pool' }).delete(input)).rejects.toMatchObject({
        kind: 'Invalid',
        message: expect.stringContaining('no-such-pool'),
      });
      await provider(driver).delete(input);
    });

    test('has the memory of the host as quota, of which running domains use theirs', async () => {
      const before = await provider(driver).quota({ flavors: ['2x1g', 'odd'] });
      expect(before).toMatchObject({
        limits: { memory: 3_072 },
        sizes: { '2x1g': { cores: 2, memory: 1_024 } },
      });
      const input = machine({ flavor: '1x512m' });
      await provider(driver).create(input);
      const after = await provider(driver).quota({ flavors: [] });
      expect(after.used['memory']).toBe((before.used['memory'] ?? 0) + 512);
      await provider(driver).delete(input);
    });

    test('reports errors of an image, a pool and a disk to a plan, and before it creates anything', async () => {
      for (const [fields, more, said] of [
        [{}, { image: 'no-such-image' }, 'image no-such-image is not a volume of storage pool default-pool'],
        [{ pool: 'no-such-pool' }, {}, 'no-such-pool'],
        [{}, { image: '--help' }, 'is not a valid volume name'],
        [{}, { image: 'large', flavor: '1x64mx1g' }, 'smaller disk than the image'],
      ] as const) {
        if ('image' in more && more.image === 'large')
          libvirtd.virsh(libvirtd.test, 'vol-create-as', 'default-pool', 'large', '2G', '--format', 'qcow2');
        await expect(provider({ ...driver, ...fields }).create(machine(more))).rejects.toMatchObject({
          kind: 'Invalid',
          message: expect.stringContaining(said),
        });
        const { refused = {} } = await provider({ ...driver, ...fields }).offers(machine(more));
        expect(`${refused.flavor} ${refused.image}`).toContain(said);
      }
      expect(await provider(driver).offers(machine())).toEqual({ refused: {} });
      libvirtd.virsh(libvirtd.test, 'vol-delete', '--pool', 'default-pool', 'large');
      expect(await provider(driver).list({})).toEqual([]);
    });
  },
);
