import { execFileSync, spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { JsonObject } from '../../../../src/model/json.js';
import type { ImageFileInput } from '../../../../src/plugins/contract.js';
import { fieldsOf } from '../../../harness/plugins/fields.js';
import { identifyImage, partOf } from '../../../../src/plugins/providers/libvirt/identity.js';
import { until } from '../../../harness/until.js';
import { machine, provider } from './support/account.js';
import { libvirtIsMissing, startLibvirtd, type Libvirtd } from './support/libvirtd.js';
import { watchVirsh, type WatchedVirsh } from './support/watched-virsh.js';

const missing = libvirtIsMissing();
const words = (text: string): string => execFileSync('sh', ['-ec', text], { encoding: 'utf8' });
const ignore = (): void => undefined;
const installation = randomUUID();

describe.skipIf(missing !== undefined)(
  `uploads into a real libvirtd${missing === undefined ? '' : ` (${missing})`}`,
  () => {
    let libvirtd: Libvirtd;
    let virsh: WatchedVirsh;
    let fields: JsonObject;
    let pool: string;
    let files: string;
    beforeAll(async () => {
      libvirtd = await startLibvirtd();
      virsh = watchVirsh(libvirtd.folder);
      [pool, files] = ['pool', 'files'].map((name) => join(libvirtd.folder, name)) as [string, string];
      mkdirSync(pool);
      mkdirSync(files);
      libvirtd.virsh(libvirtd.qemu, 'pool-create-as', 'disks', 'dir', '--target', pool);
      fields = {
        uri: libvirtd.qemu,
        program: virsh.program,
        pool: 'disks',
        bridge: libvirtd.bridge,
        hypervisor: 'qemu',
        addressFrom: 'fixed',
        addresses: { 'app-1': '10.0.0.7' },
        cloudInit: false,
        shutDownSeconds: 0,
        readEveryMs: 50,
      };
      words(
        `cd '${files}' && head -c 20M /dev/urandom >raw && truncate -s 64M raw && qemu-img convert -O qcow2 raw qcow2 && qemu-img create -q -f qcow2 -b '${files}/qcow2' -F qcow2 layer && qemu-img create -q -f qcow2 -o data_file='${files}/data',data_file_raw=on outside 1M && cp qcow2 disguised`,
      );
    });
    afterAll(() => libvirtd?.close());

    let builds = 0;
    function upload(format: string, name = format, more: Partial<ImageFileInput> = {}): ImageFileInput {
      builds += 1;
      const file = join(files, name);
      return {
        image: { name: 'web', revision: String(builds) },
        providerImage: `web@${builds}`,
        token: `${installation}/${builds}/lab`,
        file,
        format,
        sha256: createHash('sha256').update(readFileSync(file)).digest('hex'),
        bytes: statSync(file).size,
        tags: { 'heddle-installation': installation, 'heddle-key': `${installation}/web-${builds}/1` },
        progress: ignore,
        ...more,
      };
    }
    /** Has the template of an image be made ten minutes earlier. */
    const age = (volume: string, token: string): void => {
      const { uuid } = identifyImage('disks', volume, token);
      const xml = libvirtd.virsh(libvirtd.qemu, 'dumpxml', uuid);
      const file = join(files, 'template.xml');
      const created = new Date(Date.now() - 600_000).toISOString();
      writeFileSync(file, xml.replace(/ created=["'][^"']*["']/, ` created='${created}'`));
      libvirtd.virsh(libvirtd.qemu, 'define', file);
      rmSync(file);
    };
    const volumes = (): readonly string[] =>
      words(`ls '${pool}'`)
        .split('\n')
        .filter((name) => name !== '');
    const domains = (): string => libvirtd.virsh(libvirtd.qemu, 'list', '--all', '--name').trim();
    const listed = async (): Promise<readonly string[]> =>
      (await provider(fields).listImages({ 'heddle-installation': installation })).map(
        ({ providerImage }) => providerImage,
      );
    const expectNothingLeft = async (): Promise<void> => {
      expect([volumes(), domains(), await listed()]).toEqual([[], '', []]);
    };

    test.each(['qcow2', 'raw'])(
      'a %s file becomes an image with its content and tags, once for its token; machines are made of it',
      async (format) => {
        const image = upload(format);
        for (const _time of ['once', 'again'])
          expect(await provider(fields).uploadImage(image)).toEqual({ answer: 'done' });
        expect(volumes()).toEqual([image.providerImage]);
        expect(words(`cd '${pool}' && qemu-img compare ${image.providerImage} '${image.file}'`)).toContain(
          'Images are identical',
        );
        expect(await provider(fields).listImages({ 'heddle-installation': installation })).toEqual([
          { providerImage: image.providerImage, tags: image.tags, createdAt: expect.stringMatching(/Z$/) },
        ]);
        expect(await provider(fields).listImages({ 'heddle-installation': randomUUID() })).toEqual([]);
        // What a person deleted is uploaded again.
        libvirtd.virsh(libvirtd.qemu, 'vol-delete', '--pool', 'disks', image.providerImage);
        expect(await provider(fields).uploadImage(image)).toEqual({ answer: 'done' });
        expect(volumes()).toEqual([image.providerImage]);
        const input = machine({ image: image.providerImage });
        await provider(fields).create(input);
        expect(await provider(fields).list({})).toHaveLength(1);
        expect(await provider(fields).deleteImage(image)).toMatchObject({
          answer: 'not done',
          why: expect.stringContaining('uses the image'),
        });
        await provider(fields).delete(input);
        const copy = { ...image, file: join(files, 'fetched'), format: 'qcow2' };
        expect(await provider(fields).downloadImage(copy)).toEqual({ answer: 'done' });
        expect(readFileSync(copy.file).equals(readFileSync(join(pool, image.providerImage)))).toBe(true);
        for (const _time of ['once', 'again'])
          expect(await provider(fields).deleteImage(image)).toEqual({ answer: 'done' });
        await expectNothingLeft();
      },
    );

    test.each(['question', 'answer'] as const)(
      'an upload ends with one whole image, and a deletion with none, whichever %s of virsh is lost',
      async (what) => {
        let lost = 0;
        for (let number = 1, met = true; met; number += 1) {
          const image = upload('qcow2');
          virsh.lose(number, what);
          await provider(fields)
            .uploadImage(image)
            .catch((error: unknown) => expect(error).toMatchObject({ kind: 'Retryable' }));
          met = virsh.end();
          expect(await provider(fields).uploadImage(image)).toEqual({ answer: 'done' });
          expect([volumes(), await listed()]).toEqual([[image.providerImage], [image.providerImage]]);
          expect(words(`cd '${pool}' && qemu-img compare ${image.providerImage} '${image.file}'`)).toContain(
            'Images are identical',
          );
          virsh.lose(number, what);
          await provider(fields)
            .deleteImage(image)
            .catch((error: unknown) => expect(error).toMatchObject({ kind: 'Retryable' }));
          met = virsh.end() || met;
          expect(await provider(fields).deleteImage(image)).toEqual({ answer: 'done' });
          await expectNothingLeft();
          if (met) lost += 1;
        }
        expect(lost).toBeGreaterThanOrEqual(10);
      },
      600_000,
    );

    test('what an interrupted upload left is listed and deleted, or replaced by the whole file', async () => {
      for (const end of ['delete', 'repeat'] as const) {
        const image = upload('raw');
        const cut = new AbortController();
        await expect(
          provider(fields, cut.signal).uploadImage({
            ...image,
            progress: () => cut.abort(new Error('the builder died')),
          }),
        ).rejects.toThrow('the builder died');
        expect(await listed()).toEqual([image.providerImage]);
        expect(volumes()).not.toContain(image.providerImage);
        if (end === 'repeat') {
          expect(await provider(fields).uploadImage(image)).toEqual({ answer: 'done' });
          expect(words(`cd '${pool}' && qemu-img compare ${image.providerImage} '${image.file}'`)).toContain(
            'Images are identical',
          );
        }
        expect(await provider(fields).deleteImage(image)).toEqual({ answer: 'done' });
        await expectNothingLeft();
      }
    });

    test('no process of an upload is left when its builder is killed, and the next attempt completes it', async () => {
      const file = join(files, 'large');
      words(`head -c 1M /dev/urandom >'${file}' && truncate -s 3G '${file}'`);
      const sha256 = words(`sha256sum '${file}'`).slice(0, 64);
      const image = upload('raw', 'raw', { file, sha256, bytes: 3 * 2 ** 30 });
      const part = partOf(identifyImage('disks', image.providerImage, image.token));
      const { progress: _progress, ...order } = image;
      const entry = join(inject('distPath'), 'plugins/providers/libvirt/libvirt.js');
      const program = `
        const { LibvirtProvider } = await import(${JSON.stringify(pathToFileURL(entry).href)});
        const log = { debug() {}, info() {}, warn() {}, error() {} };
        const signal = new AbortController().signal;
        const provider = new LibvirtProvider({ task: {}, log, signal, fields: ${JSON.stringify(fieldsOf('libvirt', fields))} });
        await provider.uploadImage({ ...${JSON.stringify(order)}, progress: (text) => console.log(text) });`;
      const builder = spawn(process.execPath, ['--input-type=module', '-e', program], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      await once(builder.stdout, 'data');
      const senders = (): readonly string[] =>
        readdirSync('/proc').filter((pid) => {
          try {
            return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(part);
          } catch {
            return false;
          }
        });
      expect(senders()).not.toEqual([]);
      const ended = once(builder, 'exit');
      builder.kill('SIGKILL');
      await ended;
      await until('the end of every process of the upload', () => Promise.resolve(senders().length === 0));
      expect(volumes()).not.toContain(image.providerImage);
      // A smaller file takes less time to send.
      const small = { ...upload('raw'), token: image.token, providerImage: image.providerImage };
      expect(await provider(fields).uploadImage(small)).toEqual({ answer: 'done' });
      expect(words(`cd '${pool}' && qemu-img compare ${small.providerImage} '${small.file}'`)).toContain(
        'Images are identical',
      );
      expect(await provider(fields).deleteImage(image)).toEqual({ answer: 'done' });
      await expectNothingLeft();
    });

    test('a stored file that differs from the built one becomes no image', async () => {
      const image = upload('raw', 'raw', { sha256: createHash('sha256').update('other').digest('hex') });
      await expect(provider(fields).uploadImage(image)).rejects.toMatchObject({
        kind: 'Retryable',
        message: expect.stringContaining('differs'),
      });
      expect(volumes()).toEqual([]);
      expect(await provider(fields).deleteImage(image)).toEqual({ answer: 'done' });
      await expectNothingLeft();
    });

    test.each([
      ['qcow2', 'layer', 'a layer on another file'],
      ['qcow2', 'outside', 'in another file'],
      ['raw', 'disguised', 'is qcow2'],
      ['qcow2', 'raw', 'is not qcow2'],
      ['vmdk', 'raw', 'accepts qcow2 and raw'],
    ])('a file said to be %s is refused if it is %s', async (format, name, why) => {
      expect(await provider(fields).uploadImage(upload(format, name))).toEqual({
        answer: 'not done',
        why: expect.stringContaining(why),
      });
      await expectNothingLeft();
    });

    test("neither an upload nor its deletion touches another's image of the same name", async () => {
      const [own, other] = [upload('qcow2'), upload('raw')];
      const second = { ...other, providerImage: own.providerImage };
      await provider(fields).uploadImage(own);
      const refused = { answer: 'not done', why: expect.stringContaining('belongs to another owner') };
      expect(await provider(fields).uploadImage(second)).toEqual(refused);
      expect(await provider(fields).deleteImage(second)).toEqual({ answer: 'done' });
      expect(volumes()).toEqual([own.providerImage]);
      expect(await provider(fields).deleteImage(own)).toEqual({ answer: 'done' });
      libvirtd.virsh(libvirtd.qemu, 'vol-create-as', 'disks', own.providerImage, '1M', '--format', 'raw');
      expect(await provider(fields).uploadImage(own)).toEqual(refused);
      expect(await provider(fields).deleteImage(own)).toEqual({ answer: 'done' });
      expect([volumes(), domains()]).toEqual([[own.providerImage], '']);
      libvirtd.virsh(libvirtd.qemu, 'vol-delete', '--pool', 'disks', own.providerImage);
    });

    test("an interrupted capture that finds another's image leaves no template with it", async () => {
      const base = upload('qcow2');
      await provider(fields).uploadImage(base);
      const input = machine({ image: base.providerImage });
      await provider(fields).create(input);
      await provider(fields).powerOff(input);
      let taken = 0;
      for (let number = 1; ; number += 1) {
        const { image, providerImage, tags = {}, token } = upload('raw');
        const capture = { ...input, image, providerImage, token, imageTags: tags, progress: ignore };
        virsh.lose(number, 'answer');
        await provider(fields)
          .capture(capture)
          .catch((error: unknown) => expect(error).toMatchObject({ kind: 'Retryable' }));
        virsh.end();
        const isMade = volumes().includes(providerImage);
        if (!isMade) {
          libvirtd.virsh(libvirtd.qemu, 'vol-create-as', 'disks', providerImage, '1M', '--format', 'raw');
          expect(await provider(fields).capture(capture)).toMatchObject({ answer: 'not done' });
          expect(await listed()).not.toContain(providerImage);
          taken += 1;
        }
        const order = { image, providerImage, token, tags, progress: ignore };
        expect(await provider(fields).deleteImage(order)).toEqual({ answer: 'done' });
        expect(volumes().includes(providerImage)).toBe(!isMade);
        if (isMade) break;
        libvirtd.virsh(libvirtd.qemu, 'vol-delete', '--pool', 'disks', providerImage);
      }
      expect(taken).toBeGreaterThan(3);
      await provider(fields).delete(input);
      expect(await provider(fields).deleteImage(base)).toEqual({ answer: 'done' });
      await expectNothingLeft();
    });

    test('a capture is listed by its tags, also before it is complete, and deleted by them', async () => {
      const base = upload('qcow2');
      await provider(fields).uploadImage(base);
      const input = machine({ image: base.providerImage });
      await provider(fields).create(input);
      await provider(fields).powerOff(input);
      const { image, providerImage, tags = {}, token } = upload('raw');
      const capture = {
        ...input,
        image,
        providerImage,
        token: 'of a capture',
        imageTags: tags,
        progress: ignore,
      };
      const cut = new AbortController();
      await expect(
        provider(fields, cut.signal).capture({
          ...capture,
          progress: () => cut.abort(new Error('the worker died')),
        }),
      ).rejects.toThrow('the worker died');
      expect(await listed()).toContain(providerImage);
      expect(await provider(fields).capture(capture)).toEqual({ answer: 'done' });
      expect(await provider(fields).capture({ ...capture, token: 'of another' })).toMatchObject({
        answer: 'not done',
      });
      // A person deletes the volume: the image's name is free again, unless a capture is about to begin.
      libvirtd.virsh(libvirtd.qemu, 'vol-delete', '--pool', 'disks', providerImage);
      const third = { ...capture, token: 'of a third' };
      await expect(provider(fields).capture(third)).rejects.toMatchObject({ kind: 'NotReady' });
      age(providerImage, capture.token);
      expect(await provider(fields).capture(third)).toEqual({ answer: 'done' });
      libvirtd.virsh(libvirtd.qemu, 'vol-delete', '--pool', 'disks', providerImage);
      age(providerImage, third.token);
      const uploaded = { ...upload('qcow2'), providerImage };
      expect(await provider(fields).uploadImage(uploaded)).toEqual({ answer: 'done' });
      expect(await provider(fields).deleteImage(uploaded)).toEqual({ answer: 'done' });
      expect(await provider(fields).capture({ ...capture, token: 'of a fourth' })).toEqual({
        answer: 'done',
      });
      const theirs = { ...tags, 'heddle-key': 'of another' };
      const order = { image, providerImage, token, progress: ignore };
      expect(await provider(fields).deleteImage({ ...order, tags: theirs })).toEqual({ answer: 'done' });
      expect(volumes()).toContain(providerImage);
      expect(await provider(fields).deleteImage({ ...order, tags })).toEqual({ answer: 'done' });
      await provider(fields).delete(input);
      expect(await provider(fields).deleteImage(base)).toEqual({ answer: 'done' });
      await expectNothingLeft();
    });
  },
);
