import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../../src/model/json.js';
import { identify } from '../../../../src/plugins/providers/libvirt/identity.js';
import { hasTerminal } from '../../../harness/cli/terminal.js';
import { until } from '../../../harness/until.js';
import { machine, provider } from './support/account.js';
import { banner, echoDisk } from './support/echo-disk.js';
import { libvirtIsMissing, startLibvirtd, type Libvirtd } from './support/libvirtd.js';

const missing = libvirtIsMissing();

describe.skipIf(missing !== undefined)(
  `consoles of QEMU's machines${missing === undefined ? '' : ` (${missing})`}`,
  () => {
    let libvirtd: Libvirtd;
    let fields: JsonObject;
    beforeAll(async () => {
      libvirtd = await startLibvirtd();
      const pool = join(libvirtd.folder, 'pool');
      mkdirSync(pool);
      writeFileSync(join(pool, 'echo'), echoDisk());
      libvirtd.virsh(libvirtd.qemu, 'pool-create-as', 'disks', 'dir', '--target', pool);
      fields = {
        uri: libvirtd.qemu,
        pool: 'disks',
        bridge: libvirtd.bridge,
        hypervisor: 'qemu',
        cloudInit: false,
        addressFrom: 'fixed',
        shutDownSeconds: 0,
      };
    });
    afterAll(() => libvirtd?.close());

    test.skipIf(!hasTerminal)('the serial console of a machine is opened, and ended by ^]', async () => {
      const input = machine({ image: 'echo' });
      await provider(fields).create(input);
      const { uuid } = identify(input.key);
      const { command } = await provider(fields).console({ ...input, providerid: uuid, key: '' });
      const line = command.map((word) => `'${word}'`).join(' ');
      const terminal = spawn('script', ['-qec', line, '/dev/null'], { stdio: ['pipe', 'pipe', 'inherit'] });
      terminal.stdin.on('error', () => undefined);
      let shown = '';
      terminal.stdout.setEncoding('utf8').on('data', (chunk: string) => (shown += chunk));
      const ended = once(terminal, 'close');
      await until('the console to be open', () => shown.includes('Escape character is ^]'), 60_000);
      await until(
        'the machine to answer',
        () => {
          terminal.stdin.write('x');
          return shown.includes('<x>');
        },
        60_000,
      );
      // virsh knows it only at the beginning of what it reads at once.
      await until('virsh to end', () => {
        if (terminal.exitCode === null) terminal.stdin.write('\u001D');
        return terminal.exitCode !== null;
      });
      expect(await ended).toEqual([0, null]);
      await provider(fields).delete(input);
    });

    test('what a machine printed is read by its key, also after a reset, and deleted with the machine', async () => {
      const input = machine({ image: 'echo' });
      await provider(fields).create(input);
      const booted = (): Promise<unknown> =>
        until(
          'the machine to boot',
          async () => (await provider(fields).consoleOutput(input))?.endsWith(banner) === true,
          60_000,
        );
      await booted();
      expect(await provider(fields).consoleOutput(machine())).toBeUndefined();
      await provider(fields).powerOff(input);
      await provider(fields).load({
        ...input,
        image: { name: 'echo', revision: '1' },
        providerImage: 'echo',
        token: 'load',
        progress: () => undefined,
      });
      await provider(fields).powerOn(input);
      await booted();
      // As libvirt's log daemon does with a long one.
      const { log } = identify(input.key);
      writeFileSync(join(libvirtd.folder, 'pool', `${log}.0`), 'an earlier part');
      await provider(fields).delete(input);
      expect(readdirSync(join(libvirtd.folder, 'pool'))).toEqual(['echo']);
    });

    test('a domain that libvirt does not have, or that is not of this program, has no console', async () => {
      const { uuid } = identify('some other key');
      await expect(
        provider(fields).console({ providerid: uuid, key: '', tags: {}, fields: {} }),
      ).rejects.toMatchObject({ kind: 'Invalid', message: expect.stringContaining('libvirt does not have') });
    });
  },
);
