import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../../src/model/json.js';
import { identify } from '../../../../src/plugins/providers/libvirt/identity.js';
import { hasTerminal } from '../../../harness/cli/terminal.js';
import { until } from '../../../harness/until.js';
import { machine, provider } from './support/account.js';
import { echoDisk } from './support/echo-disk.js';
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
      };
    }, 180_000);
    afterAll(() => libvirtd?.close());

    test.skipIf(!hasTerminal)(
      'the serial console of a machine is opened, and ended by ^]',
      async () => {
        const input = machine({ image: 'echo' });
        await provider(fields).create(input);
        const { uuid } = identify(input.key);
        const { command } = await provider(fields).console({ ...input, providerid: uuid, key: '' });
        const line = command.map((word) => `'${word}'`).join(' ');
        const terminal = spawn('script', ['-qec', line, '/dev/null'], { stdio: ['pipe', 'pipe', 'inherit'] });
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
        terminal.stdin.write('\u001D');
        expect(await ended).toEqual([0, null]);
        await provider(fields).delete(input);
      },
      180_000,
    );

    test('a domain that libvirt does not have, or that is not of this program, has no console', async () => {
      const { uuid } = identify('some other key');
      await expect(
        provider(fields).console({ providerid: uuid, key: '', tags: {}, fields: {} }),
      ).rejects.toMatchObject({ kind: 'Invalid', message: expect.stringContaining('has no domain') });
    });
  },
);
