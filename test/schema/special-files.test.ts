import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { describeFile } from '../../src/activities/image/files.js';
import { loadConfig } from '../../src/config/index.js';
import { openImage } from '../../src/plugins/bare-metal/imaging/image-folder.js';
import { prepareImage } from '../../src/plugins/bare-metal/imaging/prepare-image.js';
import { readUsable } from '../../src/plugins/inventory/read-inventory.js';
import { readTrustedFile } from '../../src/plugins/trusted-file.js';
import { openFile, readRegularFile } from '../../src/schema/read-text.js';
import { openKeyRing } from '../../src/secrets/keys.js';
import { resolveSecrets } from '../../src/secrets/reference.js';
import { newFolder } from '../harness/folder.js';

let folder: string;
let pipe: string;
beforeEach(() => {
  folder = newFolder();
  pipe = makePipe('pipe');
});

function makePipe(name: string): string {
  const path = join(folder, name);
  execFileSync('mkfifo', ['-m', '600', path]);
  return path;
}

const log = { warn: () => undefined };
const signal = new AbortController().signal;
const never = () => undefined;
const none = { images: '', rescue: '' };

describe('a named pipe in place of a file', () => {
  it('blocks a reader that opens it as usual', async () => {
    const reading = readFile(pipe, 'utf8');
    expect(await Promise.race([reading, sleep(300, 'blocked')])).toBe('blocked');
    closeSync(openSync(pipe, 'w'));
    await reading;
  });

  const uses: readonly (readonly [what: string, use: () => unknown])[] = [
    ['an inventory or list of host keys', () => readTrustedFile(pipe)],
    [
      'variables beside an inventory',
      async () => {
        mkdirSync(join(folder, 'group_vars'));
        makePipe('group_vars/all');
        const file = join(folder, 'hosts');
        execFileSync('sh', ['-c', 'echo "[web]\na ansible_host=10.0.0.1" > "$1"', 'sh', file]);
        const [fault] = (await readUsable({ file, log })).faults;
        throw fault ?? new Error('was read');
      },
    ],
    [
      'a key ring',
      () => {
        mkdirSync(join(folder, 'keys'), { mode: 0o700 });
        makePipe('keys/keys.json');
        return openKeyRing({ folder: join(folder, 'keys'), create: false });
      },
    ],
    [
      'a secret',
      () =>
        resolveSecrets(
          { secret: `file:${pipe}` },
          { environment: {} },
          { writtenBy: 'administrator', place: 'x' },
        ),
    ],
    ['the file of a build', () => describeFile(pipe, 'raw', signal)],
    ['an image', () => prepareImage({ file: pipe, format: 'raw' }, join(folder, 'copy'), never)],
    ['a packed image', () => prepareImage({ file: pipe, format: 'gzip' }, join(folder, 'copy'), never)],
    ['a qcow2 image', () => prepareImage({ file: pipe, format: 'qcow2' }, join(folder, 'copy'), never)],
    [
      'the digest of an image',
      () => {
        makePipe('x.gz.sha256');
        return prepareImage({ file: join(folder, 'x.gz'), format: 'gzip' }, join(folder, 'copy'), never);
      },
    ],
    [
      'the kernel of the rescue system',
      () => {
        makePipe('kernel');
        return openImage({ ...none, rescue: folder }, 'debian');
      },
    ],
    ['heddle.yaml', () => loadConfig({ configFlag: pipe, env: { HOME: folder } })],
    ['temporal.toml', () => loadConfig({ cwd: folder, env: { HOME: folder, TEMPORAL_CONFIG_FILE: pipe } })],
    [
      'temporal.toml of the user',
      () => {
        mkdirSync(join(folder, '.config/temporalio'), { recursive: true });
        makePipe('.config/temporalio/temporal.toml');
        return loadConfig({ cwd: folder, env: { HOME: folder } });
      },
    ],
    [
      'the key of a client of Temporal',
      () =>
        loadConfig({
          cwd: folder,
          env: { HOME: folder, TEMPORAL_TLS_CLIENT_KEY_PATH: pipe, TEMPORAL_TLS_CLIENT_CERT_PATH: pipe },
        }),
    ],
  ];
  it.each(uses)('is refused as %s, without blocking', async (_what, use) => {
    await expect((async () => use())()).rejects.toThrow(/is not a regular file/);
  });
});

describe('reading a file', () => {
  it('refuses sockets and devices, and reports a folder and an absent file as usual', async () => {
    await expect(readRegularFile('/dev/zero')).rejects.toThrow('/dev/zero is not a regular file');
    await expect(readRegularFile(folder)).rejects.toMatchObject({ code: 'EISDIR' });
    await expect(openFile(join(folder, 'absent'))).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
