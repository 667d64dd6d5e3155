import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer, request, type IncomingMessage, type Server } from 'node:http';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Gateway, socketFolder, socketOf } from '../../../src/plugins/bare-metal/imaging/gateway.js';
import { ImageServer } from '../../../src/plugins/bare-metal/imaging/image-server.js';
import { freePort } from '../../harness/free-port.js';
import { until } from '../../harness/until.js';
import { fetchFrom } from './support/fetch-from.js';
import { newFolder } from '../../harness/folder.js';

const mac = '52:54:00:aa:bb:01';
const megabyte = 2 ** 20;
const content = Buffer.concat([randomBytes(20 * megabyte), Buffer.alloc(512)]);
const sha256 = createHash('sha256').update(content).digest('hex');
const disk = `sda ${content.length} 0 0 - -`;

describe('the server of an image', () => {
  let folder: string;
  let port: number;
  let server: ImageServer;
  let listening: Server;
  let lines: string[];
  let gateway: Gateway;
  beforeEach(async () => {
    folder = newFolder();
    port = await freePort();
    lines = [];
    await writeFile(join(folder, 'image'), content);
    await writeFile(join(folder, 'kernel'), 'a kernel');
    await writeFile(join(folder, 'initramfs'), 'an initramfs');
    server = new ImageServer({
      image: { file: join(folder, 'image'), bytes: content.length, sha256 },
      mac,
      disk: undefined,
      rescue: folder,
      progress: (text) => lines.push(text),
    });
    listening = await server.listen(socketOf(folder, mac));
    gateway = new Gateway({ host: '127.0.0.1', port, folder });
    await gateway.open();
  });
  afterEach(async () => {
    await gateway.close();
    listening.close();
  });

  const at = (path: string): string => `http://127.0.0.1:${port}${path}`;
  const read = async (url: string, body?: string): Promise<{ status: number; body: Buffer }> => {
    const response = await fetch(url, body === undefined ? {} : { method: 'POST', body });
    return { status: response.status, body: Buffer.from(await response.arrayBuffer()) };
  };
  const text = async (url: string, body?: string): Promise<string> => (await read(url, body)).body.toString();
  /** The address that the script of the machine uses. */
  const start = async (): Promise<string> => {
    const boot = await text(at(`/boot/${mac}`));
    const script = /heddle\.url=(\S+)/.exec(boot)?.[1] ?? '';
    return /^url=(\S+)$/m.exec(await text(script))?.[1] ?? '';
  };

  it('gives a machine what it boots, the image in pieces, and takes its digest', async () => {
    const boot = await text(at(`/boot/${mac}`));
    expect(boot).toMatch(
      new RegExp(
        `^#!ipxe\n:again\nimgfree\nkernel http://127\\.0\\.0\\.1:${port}/${mac}/[0-9a-f]{32}/kernel `,
      ),
    );
    expect(await text(/kernel (\S+)/.exec(boot)?.[1] ?? '')).toBe('a kernel');
    expect(await text(/initrd (\S+)/.exec(boot)?.[1] ?? '')).toBe('an initramfs');
    const url = await start();
    expect(await text(`${url}/disks`, disk)).toBe(`write sda ${content.length} 16`);
    const pieces = await Promise.all([0, 1].map(async (piece) => (await read(`${url}/piece/${piece}`)).body));
    expect(Buffer.concat(pieces.map((piece) => gunzipSync(piece))).equals(content)).toBe(true);
    expect((await read(`${url}/piece/2`)).status).toBe(404);
    await text(`${url}/read`, '1');
    expect(server.stage).toBe('reading');
    await text(`${url}/digest`, `${sha256}\n`);
    expect(await server.ended).toMatchObject({ is: 'done', why: expect.stringContaining(sha256) });
    expect(lines.join('\n')).toMatch(
      /boot script[\s\S]*loads[\s\S]*rescue system runs[\s\S]*79 % written[\s\S]*79 % read back/,
    );
  });

  it('answers 404 to another machine, another token, and other paths', async () => {
    const url = await start();
    const wrong = url.replace(/[0-9a-f]{32}$/, '0'.repeat(32));
    for (const path of [
      at('/'),
      at('/boot/52:54:00:aa:bb:02'),
      at('/boot/..%2f..%2fetc'),
      `${wrong}/script`,
      `${wrong}/piece/0`,
      `${url}/../../etc/passwd`,
      `${url}/piece/-1`,
      `${url}/piece/0/0`,
      `${url}/image`,
    ])
      expect((await read(path)).status, path).toBe(404);
    for (const what of ['disks', 'digest', 'failed'])
      expect((await read(`${wrong}/${what}`, sha256)).status, what).toBe(404);
    expect((await read(`${url}/unheard-of`, '')).status).toBe(404);
    expect((await read(`${url}/disks`, 'x'.repeat(100_000))).status).toBe(404);
    expect(server.hasServed).toBe(false);
  });

  it('answers 404 to a host that would become a command of a script', async () => {
    const [answer] = (await once(
      request({ port, path: `/boot/${mac}`, headers: { host: 'x;reboot' } }).end(),
      'response',
    )) as [IncomingMessage];
    expect(answer.statusCode).toBe(404);
    answer.resume();
  });

  it('ends as broken after another digest, or what the rescue system reports, of which it shows little', async () => {
    const url = await start();
    await text(`${url}/failed`, `a\u001B[31m${'b'.repeat(5_000)}`);
    const { is, why } = await server.ended;
    expect([is, why.length < 400, /[^\x20-\x7e]/.test(why)]).toEqual(['broken', true, false]);
  });

  it('ends as broken if the disk holds something else', async () => {
    const url = await start();
    await text(`${url}/digest`, '0'.repeat(64));
    expect(await server.ended).toMatchObject({ is: 'broken', why: expect.stringContaining(sha256) });
  });

  it('refuses a disk that is too small before anything is written, and not so after that', async () => {
    const url = await start();
    const small = disk.replace(String(content.length), '512');
    expect(await text(`${url}/disks`, small)).toBe('refused');
    expect(await server.ended).toMatchObject({ is: 'unwritten', why: expect.stringContaining('too small') });
    // What is said to be unchanged stays so.
    expect((await read(`${url}/piece/0`)).status).toBe(404);
    expect(server.hasServed).toBe(false);
  });

  it('waits for a disk that is not there yet', async () => {
    const url = await start();
    expect(await text(`${url}/disks`, '')).toBe('wait');
    expect(await text(`${url}/disks`, disk)).toMatch(/^write/);
  });

  it('begins anew when the machine restarts, and knows that something was written', async () => {
    const url = await start();
    await read(`${url}/piece/0`);
    expect([server.stage, server.hasServed]).toEqual(['writing', true]);
    const again = await start();
    expect([server.stage, server.hasServed]).toEqual(['rescue', true]);
    expect(await text(`${again}/disks`, `sda 512 0 0 - -`)).toBe('refused');
    expect(await server.ended).toMatchObject({ is: 'broken' });
  });

  it('binds what it gives to the first host that asks, and tells of every other one', async () => {
    const url = new URL(await start()).pathname;
    expect(await fetchFrom('127.0.0.9', port, `/boot/${mac}`)).toMatch(/sleep 5/);
    expect(await fetchFrom('127.0.0.9', port, `/boot/${mac}`)).not.toContain(url);
    expect(await fetchFrom('127.0.0.9', port, `${url}/piece/0`)).toBe('404');
    expect(await fetchFrom('127.0.0.9', port, `${url}/digest`, sha256)).toBe('404');
    expect(server.hasServed).toBe(false);
    expect(server.doubt).toMatch(/127\.0\.0\.1 was served, and 127\.0\.0\.9 also requested/);
    expect(lines.filter((line) => line.startsWith('warning: '))).toEqual([
      expect.stringContaining('127.0.0.9 requested the boot script'),
      expect.stringContaining('127.0.0.9 used the token of 127.0.0.1'),
    ]);
    // Another token at each hand-out.
    expect(new URL(await start()).pathname).not.toBe(url);
    expect((await read(at(`${url}/script`))).status).toBe(404);
  });

  it('gives nothing to a neighbour with another Ethernet address', async () => {
    const other = '52:54:00:aa:bb:03';
    const careful = new ImageServer({
      image: { file: join(folder, 'image'), bytes: content.length, sha256 },
      mac: other,
      disk: undefined,
      rescue: folder,
      progress: (line) => lines.push(line),
      macOf: (address) => Promise.resolve(address === '127.0.0.9' ? mac : other),
    });
    const listensToo = await careful.listen(socketOf(folder, other));
    expect(await fetchFrom('127.0.0.9', port, `/boot/${other}`)).toBe('404');
    expect(lines.join()).toContain(`its address is ${mac}`);
    expect(await fetchFrom('127.0.0.1', port, `/boot/${other}`)).toContain('heddle.url=');
    expect(careful.doubt).toBeUndefined();
    listensToo.close();
  });

  it('shares its port with other loads', async () => {
    const other = '52:54:00:aa:bb:02';
    const second = new ImageServer({
      image: { file: join(folder, 'image'), bytes: content.length, sha256 },
      mac: other,
      disk: undefined,
      rescue: folder,
      progress: () => undefined,
    });
    const listensToo = await second.listen(socketOf(folder, other));
    expect(await text(at(`/boot/${other}`))).toContain(`/${other}/`);
    expect(await text(at(`/boot/${other.toUpperCase()}`))).toContain(`/${other}/`);
    expect(await text(at(`/boot/${other.replaceAll(':', '%3a')}`))).toContain(`/${other}/`);
    listensToo.close();
  });

  it('passes its port on to another load when it ends', async () => {
    const next = new Gateway({ host: '127.0.0.1', port, folder });
    await next.open();
    const url = await start();
    const open = request(`${url}/piece/0`).end();
    const [answer] = (await once(open, 'response')) as [IncomingMessage];
    const closed = gateway.close();
    await until('the next load serves the port', async () =>
      read(at(`/boot/${mac}`)).then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
    // What was being sent arrives whole.
    const parts: Buffer[] = [];
    for await (const part of answer as AsyncIterable<Buffer>) parts.push(part);
    expect(gunzipSync(Buffer.concat(parts)).equals(content.subarray(0, 16 * megabyte))).toBe(true);
    await closed;
    await next.close();
  });
});

describe('the port of loads', () => {
  let folder: string;
  let port: number;
  beforeEach(async () => {
    folder = newFolder();
    port = await freePort();
  });
  const place = (): ConstructorParameters<typeof Gateway>[0] => ({ host: '127.0.0.1', port, folder });

  it('is refused if another program has it, whatever that calls itself', async () => {
    const foreign = createServer((_, outgoing) =>
      outgoing
        .setHeader('server', 'heddle-imaging')
        .setHeader('heddle-signature', '0'.repeat(64))
        .end('hello'),
    );
    await new Promise<void>((resolve) => foreign.listen(port, '127.0.0.1', resolve));
    await expect(new Gateway(place()).open()).rejects.toThrow(/used by another program/);
    foreign.close();
  });

  it('is refused if it serves the loads of another user, and shared by those of one', async () => {
    const others = newFolder();
    const theirs = new Gateway({ ...place(), folder: others });
    await theirs.open();
    await expect(new Gateway(place()).open()).rejects.toThrow(/used by another program/);
    await theirs.close();
    const ours = Array.from({ length: 5 }, () => new Gateway(place()));
    await Promise.all(ours.map((gateway) => gateway.open()));
    await Promise.all(ours.map((gateway) => gateway.close()));
    expect(await readdir(folder)).toEqual(['key']);
    await rm(others, { recursive: true });
  });

  it('has a folder that only its user writes', async () => {
    const sockets = await socketFolder(port);
    await expect(socketFolder(port)).resolves.toBe(sockets);
    await chmod(sockets, 0o777);
    await expect(socketFolder(port)).rejects.toThrow(/only this user can write/);
    await rm(sockets, { recursive: true });
  });
});
