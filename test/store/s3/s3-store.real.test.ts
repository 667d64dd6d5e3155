import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openBucket } from '../../../src/store/s3/bucket.js';
import { createS3Store, openS3Archive } from '../../../src/store/s3/store.js';
import type { LogArchive, LogScope, LogStore, StoredLog } from '../../../src/store/store.js';
import { compile } from '../../harness/compile.js';
import {
  credentials,
  objectStoreIsMissing,
  startObjectStore,
  type ObjectStore,
} from '../../harness/object-store.js';
import { until } from '../../harness/until.js';
import { newFolder } from '../../harness/folder.js';

const missing = objectStoreIsMissing();
if (missing !== undefined) console.info(`left out logs in an object store: ${missing}`);

describe.skipIf(missing !== undefined)('logs in an object store', () => {
  let remote: ObjectStore;
  let base: string;
  let uid = '';
  let count = 0;
  const opened: LogStore[] = [];
  const reports: string[] = [];
  beforeAll(async () => {
    remote = await startObjectStore();
  });
  beforeEach(() => {
    base = newFolder();
    uid = `cluster-${(count += 1)}`;
    reports.length = 0;
  });
  afterEach(async () => {
    for (const store of opened.splice(0)) await store.close();
  });
  afterAll(() => remote.close());

  const bucket = (secretAccessKey = credentials.secretAccessKey) =>
    openBucket(remote.settings, async () => ({ ...credentials, secretAccessKey }));
  const log = (node = 'app-1'): string => `${uid}/${node}/op-1.1.web.START.1.log`;
  const worker = (name: string, more: Partial<Parameters<typeof createS3Store>[0]> = {}): LogStore => {
    const folder = join(base, name);
    const store = createS3Store({
      ...{ bucket: bucket(), folder, report: (message: string) => void reports.push(message) },
      ...more,
    });
    opened.push(store);
    return store;
  };
  /** Another machine, which has nothing itself. */
  const reader = (): LogArchive => openS3Archive({ bucket: bucket(), folder: join(base, 'reader') });
  const find = async (archive: LogArchive, scope: Partial<LogScope> = {}): Promise<readonly StoredLog[]> => {
    const found: StoredLog[] = [];
    for (const day of await archive.days(uid))
      found.push(...(await archive.find({ clusterUid: uid, day, ...scope })));
    return found;
  };
  const lines = async (archive: LogArchive, scope: Partial<LogScope> = {}): Promise<readonly string[]> => {
    const texts = (await find(archive, scope)).map(async (stored) => {
      let text = '';
      for (let part = ''; ; text += part) {
        part = Buffer.from(await stored.read({ offset: Buffer.byteLength(text), length: 7 })).toString();
        if (part === '') return text;
      }
    });
    return (await Promise.all(texts)).flatMap((text) => text.split('\n').filter((line) => line !== ''));
  };
  const append = async (store: LogStore, name: string, ...texts: readonly string[]): Promise<void> => {
    for (const text of texts) await store.append(name, Buffer.from(`${text}\n`));
  };
  const waiting = (name: string): readonly string[] =>
    readdirSync(join(base, name), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => entry.name);

  test('are read complete by another machine, whichever workers wrote them', async () => {
    const [one, two] = [worker('one'), worker('two')];
    await append(one, log(), 'first', 'second');
    one.flush(log());
    await append(two, log(), 'third');
    await append(two, log('app-2'), 'other node');
    for (const name of [log(), log('app-2')]) two.flush(name);
    await until('all lines to arrive', async () => (await lines(reader())).length === 4);
    expect((await lines(reader())).toSorted()).toEqual(['first', 'other node', 'second', 'third']);
    expect(await lines(reader(), { nodeId: 'app-2', file: 'op-1.' })).toEqual(['other node']);
    expect([waiting('one'), waiting('two'), reports]).toEqual([[], [], []]);
  });

  test('arrive while their task still runs, and grow for whoever reads them', async () => {
    const store = worker('one');
    await append(store, log(), 'running');
    await until('the first line to arrive', async () => (await lines(reader())).length === 1, 30_000);
    const [before] = await find(reader());
    await append(store, log(), 'still running');
    store.flush(log());
    await until('the second line to arrive', async () => (await lines(reader())).length === 2);
    const [after] = await find(reader());
    expect(after?.id).toBe(before?.id);
    expect(await lines(reader())).toEqual(['running', 'still running']);
  });

  test("are read on the worker's own machine before they are sent", async () => {
    const store = worker('one');
    await append(store, log(), 'now');
    expect(await lines(openS3Archive({ bucket: bucket(), folder: join(base, 'one') }))).toEqual(['now']);
  });

  test('wait on the worker while the object store is down, in order, and are sent when it is back', async () => {
    const store = worker('one');
    await append(store, log(), 'before');
    store.flush(log());
    await until('the first line to arrive', async () => (await lines(reader())).length === 1);
    await remote.stop();
    for (let index = 1; index <= 20; index += 1) {
      await append(store, log(), `during ${index}`);
      store.flush(log());
    }
    await until('the failure to be reported', () => reports.length > 0, 30_000);
    expect(reports).toEqual([
      expect.stringMatching(/does not answer: .*ECONNREFUSED.*logs are kept in the store/),
    ]);
    await remote.start();
    await until('all lines to arrive', async () => (await lines(reader())).length === 21, 90_000);
    expect(await lines(reader())).toEqual([
      'before',
      ...Array.from({ length: 20 }, (_, index) => `during ${index + 1}`),
    ]);
    expect(reports.at(-1)).toContain('are sent to bucket heddle-logs');
  });

  test('take limited space while they wait: the oldest go first', async () => {
    await remote.stop();
    const store = worker('one', { outboxBytes: 2_000 });
    for (const name of ['app-1', 'app-2', 'app-3']) {
      await append(store, log(name), name.padEnd(900, '.'));
      store.flush(log(name));
      // File times order the pieces.
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    // The report follows the removal.
    await until(
      'the report',
      () => reports.some((text) => text.includes('1 pieces of logs were dropped')),
      30_000,
    );
    expect(waiting('one')).toHaveLength(2);
    await remote.start();
    await until('the rest to arrive', async () => (await lines(reader())).length === 2, 90_000);
    expect((await lines(reader())).map((line) => line.slice(0, 5))).toEqual(['app-2', 'app-3']);
  });

  test('of a killed worker are sent by the next one with its folder', async () => {
    await remote.stop();
    const folder = join(base, 'one');
    mkdirSync(folder, { mode: 0o700 });
    const compiled = compile(['src/store/s3/store.ts', 'src/store/s3/bucket.ts']);
    writeFileSync(
      join(compiled, 'worker.js'),
      `import { createS3Store } from './src/store/s3/store.js';
       import { openBucket } from './src/store/s3/bucket.js';
       const { settings, credentials, folder, log } = JSON.parse(process.argv[2]);
       const store = createS3Store({ bucket: openBucket(settings, async () => credentials), folder, report: () => undefined });
       await store.append(log, Buffer.from('sealed\\n'));
       store.flush(log);
       await store.append(log, Buffer.from('open\\n'));
       console.log('written');
       setInterval(() => undefined, 1000);`,
    );
    const words = JSON.stringify({ settings: remote.settings, credentials, folder, log: log() });
    const child = spawn(process.execPath, [join(compiled, 'worker.js'), words], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
    rmSync(compiled, { recursive: true });
    // As if it had ended two minutes ago.
    const then = new Date(Date.now() - 120_000);
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
      if (entry.isFile()) utimesSync(join(entry.parentPath, entry.name), then, then);
    await remote.start();
    worker('one');
    await until('both lines to arrive', async () => (await lines(reader())).length === 2, 30_000);
    expect(await lines(reader())).toEqual(['sealed', 'open']);
    expect(waiting('one')).toEqual([]);
  });

  test('are sent before a worker ends', async () => {
    const store = worker('one');
    await append(store, log(), 'last words');
    await store.close();
    expect(await lines(reader())).toEqual(['last words']);
  });

  test('end with a notice at their limit, once', async () => {
    const store = worker('one', { logLimit: 10 });
    for (const text of ['01234', '56789', 'ABCDE']) await append(store, log(), text);
    expect(await store.append(log(), Buffer.from('FGHIJ\n'))).toBe('full');
    store.flush(log());
    await until('the log to arrive', async () => (await lines(reader())).length > 0);
    expect(await lines(reader())).toEqual(['01234', '[heddle: this log was cut at 10 bytes]']);
  });

  test('of many days and a large cluster are listed page by page, and by the day', async () => {
    const target = bucket();
    const keyOf = (day: string, node: number): string =>
      `logs/${uid}/${day}/app-${node}/op-1.1.web.START.1.log/00000001-000000001`;
    const keys = Array.from({ length: 1_100 }, (_, index) => keyOf('2026-11-27', index));
    keys.push(keyOf('2026-11-26', 1), keyOf('2026-11-28', 1), `logs/${uid}/notes/x`);
    for (let at = 0; at < keys.length; at += 50)
      await Promise.all(keys.slice(at, at + 50).map((key) => target.put(key, Buffer.from('x\n'))));
    expect(await reader().days(uid)).toEqual(['2026-11-26', '2026-11-27', '2026-11-28']);
    expect(await find(reader())).toHaveLength(1_102);
    const [found, ...more] = await reader().find({ clusterUid: uid, day: '2026-11-26' });
    expect([found?.log, more]).toEqual([`${uid}/app-1/op-1.1.web.START.1.log`, []]);
    expect(Date.now() - (found?.changedAt ?? 0)).toBeLessThan(600_000);
  });

  test.each([
    ['a wrong secret', () => bucket('wrong'), /answers 403 \(SignatureDoesNotMatch/],
    [
      'a bucket that does not exist',
      () => openBucket({ ...remote.settings, bucket: 'other' }, async () => credentials),
      /answers 404 \(NoSuchBucket/,
    ],
    [
      'credentials that cannot be read',
      () => openBucket(remote.settings, () => Promise.reject(new Error('store.s3.secretAccessKey: not set'))),
      /store\.s3\.secretAccessKey: not set/,
    ],
  ])('wait with a report that names %s', async (_name, wrong, words) => {
    const store = worker('one', { bucket: wrong() });
    await append(store, log(), 'kept');
    store.flush(log());
    await until('the failure to be reported', () => reports.length > 0, 30_000);
    expect(reports[0]).toMatch(words);
    expect(waiting('one')).toHaveLength(1);
    const archive = openS3Archive({ bucket: wrong(), folder: join(base, 'reader') });
    await expect(archive.days(uid)).rejects.toThrow(words);
    await expect(archive.find({ clusterUid: uid, day: '2026-11-27' })).rejects.toThrow(words);
  });
});
