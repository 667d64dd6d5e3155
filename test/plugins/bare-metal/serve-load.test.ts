import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { socketFolder } from '../../../src/plugins/bare-metal/imaging/gateway.js';
import { runFiles, type ImagingOrder } from '../../../src/plugins/bare-metal/imaging/imaging-order.js';
import { serveLoad, type LoadEnd } from '../../../src/plugins/bare-metal/imaging/serve-load.js';
import { freePort } from '../../harness/free-port.js';
import { fetchFrom } from './support/fetch-from.js';
import { until } from '../../harness/until.js';
import { newFolder } from '../../harness/folder.js';

const mac = '52:54:00:aa:bb:07';

describe('the program of a load', () => {
  let folder: string;
  let port: number;
  let lines: string[];
  beforeEach(async () => {
    folder = newFolder();
    port = await freePort();
    lines = [];
    for (const part of ['images', 'rescue', 'run']) await mkdir(join(folder, part));
    for (const file of ['kernel', 'initramfs']) await writeFile(join(folder, 'rescue', file), file);
    await writeFile(join(folder, 'images', 'web@1.raw.gz'), gzipSync(Buffer.alloc(2 ** 20)));
  });
  afterEach(async () => rm(await socketFolder(port), { recursive: true }));

  const file = (name: keyof typeof runFiles): string => join(folder, 'run', runFiles[name]);
  const serve = (bootMs: number): Promise<LoadEnd> => {
    const order: ImagingOrder = {
      images: join(folder, 'images'),
      image: 'web@1',
      mac,
      disk: undefined,
      listen: `127.0.0.1:${port}`,
      rescue: join(folder, 'rescue'),
      bootMs,
      isFirst: true,
    };
    return serveLoad(order, {
      directory: join(folder, 'run'),
      progress: (text) => lines.push(text),
      waitShownMs: 1_000,
    });
  };
  const switchOn = async (): Promise<void> => {
    await until('it serves', () => existsSync(file('ready')));
    await writeFile(file('booting'), '');
    await writeFile(file('booted'), '');
  };
  const waits = (): readonly string[] => lines.filter((line) => line.startsWith('waits for the machine: '));

  it('says anew that it waits, until the machine has not booted in time', async () => {
    const end = serve(4_000);
    await switchOn();
    expect(await end).toMatchObject({ is: 'unwritten', why: expect.stringContaining('did not boot') });
    expect(waits().length).toBeGreaterThan(1);
    expect(new Set(waits()).size).toBe(waits().length);
  });

  it('says so too after the boot script, until the rescue system reports', async () => {
    const end = serve(4_000);
    await switchOn();
    await fetch(`http://127.0.0.1:${port}/boot/${mac}`);
    expect(await end).toMatchObject({ is: 'unwritten', why: expect.stringContaining('got its boot script') });
    expect(waits().length).toBeGreaterThan(1);
    expect(lines.findIndex((line) => line.includes('boot script'))).toBeLessThan(
      lines.indexOf(waits().at(-1) ?? ''),
    );
  });

  /** What a host does that has read the script of the machine; gives what it reported to. */
  const writeAll = async (from: string): Promise<void> => {
    const ask = (path: string, body?: string): Promise<string> => fetchFrom(from, port, path, body);
    const url = /heddle\.url=http:\/\/[^/]+(\S+)\/script/.exec(await ask(`/boot/${mac}`))?.[1] ?? '';
    await ask(`${url}/script`);
    await ask(
      `${url}/digest`,
      createHash('sha256')
        .update(Buffer.alloc(2 ** 20))
        .digest('hex'),
    );
  };

  it('is done when the machine is off after it reported the image', async () => {
    const end = serve(60_000);
    await switchOn();
    await writeAll('127.0.0.1');
    await until('the report is noted', () => existsSync(file('reported')));
    await writeFile(file('off'), '');
    expect(await end).toMatchObject({ is: 'done' });
  });

  it('is done after the time to boot if a machine cannot switch itself off', async () => {
    const end = serve(3_000);
    await switchOn();
    await writeAll('127.0.0.1');
    expect(await end).toMatchObject({ is: 'done' });
  });

  it('is not done if another host reported the image, and the machine asks for its script later', async () => {
    const end = serve(60_000);
    await switchOn();
    await writeAll('127.0.0.9');
    await until('the report is noted', () => existsSync(file('reported')));
    expect(await fetchFrom('127.0.0.1', port, `/boot/${mac}`)).toMatch(/^#!ipxe\nsleep 5\nchain /);
    expect(await end).toMatchObject({
      is: 'broken',
      why: expect.stringMatching(
        /may not be the machine: 127\.0\.0\.9 was served, and 127\.0\.0\.1 also requested/,
      ),
    });
    expect(lines.join('\n')).toMatch(
      /warning: 127\.0\.0\.1 requested the boot script, which 127\.0\.0\.9 has received/,
    );
  });

  it('gives nothing to a host that asks before the machine is switched on', async () => {
    const end = serve(3_000);
    await until('it serves', () => existsSync(file('ready')));
    expect(await fetchFrom('127.0.0.9', port, `/boot/${mac}`)).toBe('404');
    await switchOn();
    expect(await end).toMatchObject({ is: 'unwritten' });
    expect(lines.join('\n')).toContain('warning: 127.0.0.9 requested the boot script before');
  });

  it('leaves no unpacked image, however it ends', async () => {
    const packed = join(folder, 'images', 'web@1.raw.gz');
    const end = serve(1_000);
    await switchOn();
    expect(existsSync(file('copy'))).toBe(true);
    await end;
    expect(existsSync(file('copy'))).toBe(false);
    await writeFile(packed, (await readFile(packed)).subarray(0, 500));
    await rm(file('ready'));
    expect(await serve(1_000)).toMatchObject({ is: 'unprepared', why: expect.stringContaining('unpacked') });
    expect(existsSync(file('copy'))).toBe(false);
  });

  it.each([
    ['the image is gone', () => rm(join(folder, 'images', 'web@1.raw.gz')), 'image web@1 does not exist'],
    [
      'the folder of images is gone',
      () => rm(join(folder, 'images'), { recursive: true }),
      'cannot read the folder of images',
    ],
    ['the rescue system is gone', () => rm(join(folder, 'rescue', 'kernel')), 'create the rescue system'],
  ])('says that the machine had no part in it if %s', async (_, remove, why) => {
    await remove();
    expect(await serve(1_000)).toMatchObject({ is: 'unprepared', why: expect.stringContaining(why) });
  });

  it('says the same of a port that another program serves', async () => {
    const other = createServer().listen(port, '127.0.0.1');
    await once(other, 'listening');
    expect(await serve(1_000)).toMatchObject({ is: 'unprepared', why: expect.stringContaining(`${port}`) });
    other.close();
  });
});
