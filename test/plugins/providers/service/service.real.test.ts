import { spawnSync } from 'node:child_process';
import { appendFile, chmod, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../src/plugins/contract.js';
import {
  noPostgres,
  postgresImage,
  startPostgresService,
  type PostgresService,
} from '../../../harness/postgres-service.js';
import { until } from '../../../harness/until.js';
import { openProgramBench, type ProgramBench } from './support/program-bench.js';
import { newFolder } from '../../../harness/folder.js';

const verbs = ['reach', 'current', 'capture', 'load', 'check', 'taint'] as const;

describe.skipIf(noPostgres !== undefined)(
  `databases of a real server as resources${noPostgres === undefined ? '' : ` (left out: ${noPostgres})`}`,
  () => {
    let databases: PostgresService;
    let folder: string;
    let admin: JsonObject;
    let bench: ProgramBench;
    const shop = (query: string): Promise<string> => databases.sql('shop', query);

    beforeAll(async () => {
      databases = await startPostgresService(['shop']);
    });
    afterAll(async () => {
      await databases.stop();
    });
    beforeEach(async () => {
      folder = newFolder();
      await mkdir(join(folder, 'images'));
      admin = {
        folder,
        resources: databases.resources as unknown as JsonObject[],
        programs: Object.fromEntries(verbs.map((verb) => [verb, [postgresImage, verb]])),
      };
      bench = openProgramBench(admin);
      await shop(
        "DROP SCHEMA IF EXISTS stock CASCADE; DROP TABLE IF EXISTS setting CASCADE; CREATE TABLE setting (name text PRIMARY KEY, value text); INSERT INTO setting VALUES ('currency', 'EUR'); COMMENT ON DATABASE shop IS NULL",
      );
      return async () => {
        await rm(folder, { recursive: true, force: true });
      };
    });

    /** A program that notes each start, and waits while there is the file `hold`, before it does its work. */
    async function heldProgram(verb: 'load' | 'capture'): Promise<JsonObject> {
      await writeFile(join(folder, 'hold'), '');
      const script = `echo $$ >>"${folder}/starts"; while [ -e "${folder}/hold" ]; do sleep 0.05; done; exec "${postgresImage}" ${verb}`;
      return { programs: { ...(admin['programs'] as JsonObject), [verb]: ['sh', '-c', script] } };
    }
    const starts = async (): Promise<readonly string[]> =>
      (await readFile(join(folder, 'starts'), 'utf8').catch(() => ''))
        .split('\n')
        .filter((line) => line !== '');
    const isStarted = (count: number): Promise<unknown> =>
      until(`start ${count} of the program`, async () => (await starts()).length === count);
    const letGo = (): Promise<void> => rm(join(folder, 'hold'));
    /** A zombie does not run. */
    const runs = (pid: string): boolean =>
      /^[^Z\s]/.test(spawnSync('ps', ['-o', 'stat=', '-p', pid], { encoding: 'utf8' }).stdout.trim());

    it('is captured, changed and loaded, and reports its own image', async () => {
      expect(await bench.current()).toEqual({ is: 'no' });
      expect(await bench.exists('base@1')).toEqual({ is: 'no' });
      expect(await bench.capture('base@1')).toEqual({ answer: 'done' });
      expect(await bench.exists('base@1')).toEqual({ is: 'yes' });
      expect(await bench.size('base@1')).toEqual({ sizeMb: 1 });

      await shop("UPDATE setting SET value = 'DKK'; CREATE SCHEMA stock; CREATE TABLE stock.item (id int)");
      expect((await bench.check('base@1'))?.is).toBe('no');
      expect(await bench.load('base@1')).toEqual({ answer: 'done' });
      expect(await shop('SELECT value FROM setting')).toBe('EUR');
      expect(await shop("SELECT count(*) FROM pg_namespace WHERE nspname = 'stock'")).toBe('0');
      expect(await bench.current()).toEqual({
        is: 'yes',
        image: { name: 'base', revision: '1' },
        tainted: [],
      });
      expect(await bench.check('base@1')).toEqual({ is: 'yes' });

      for (const reason of ['user ada', 'it\'s "odd" $(x)', 'user ada'])
        expect(await bench.taint(reason)).toEqual({ answer: 'done' });
      expect(await bench.current()).toMatchObject({ is: 'yes', tainted: ['user ada', 'it\'s "odd" $(x)'] });
      expect(await shop('SELECT value FROM setting')).toBe('EUR');
    });

    it('reports unknown while the service is down', async () => {
      await bench.captureAs('base@1');
      await databases.down();
      try {
        expect((await bench.reach()).is).toBe('unknown');
        expect((await bench.current()).is).toBe('unknown');
        expect((await bench.check('base@1'))?.is).toBe('unknown');
        expect((await bench.capture('base@2')).answer).toBe('unknown');
        expect((await bench.load('base@1')).answer).toBe('unknown');
        expect((await bench.taint('x')).answer).toBe('unknown');
      } finally {
        await databases.up();
      }
      expect(await bench.exists('base@2')).toEqual({ is: 'no' });
      // The same capture is asked for again.
      expect(await bench.capture('base@2')).toEqual({ answer: 'done' });
    });

    it('leaves no file of a capture that failed, or whose image cannot be stored', async () => {
      const files = async (): Promise<readonly string[]> =>
        (await readdir(folder, { recursive: true })).filter((name) => name.includes('/image/'));
      const programs = admin['programs'] as JsonObject;
      for (const [code, answer] of [
        [1, 'unknown'],
        [10, 'not done'],
      ] as const) {
        const capture = ['sh', '-c', `echo partial >"$HEDDLE_FILE"; echo full >&2; exit ${code}`];
        const options = { fields: { programs: { ...programs, capture } } };
        expect(await bench.capture('part@1', options)).toMatchObject({
          answer,
          why: expect.stringMatching('full'),
        });
        expect(await files()).toEqual([]);
      }
      const capture = ['sh', '-c', `echo whole >"$HEDDLE_FILE"; mkdir -p "${folder}/images/other@1/taken"`];
      const options = { fields: { programs: { ...programs, capture } } };
      expect((await bench.capture('other@1', options)).answer).toBe('unknown');
      expect(await bench.endRun()).toEqual({ answer: 'done' });
      expect(await files()).toEqual([]);
    });

    it('reports images as unknown while their folder is unavailable, and creates none', async () => {
      await bench.captureAs('base@1');
      await rename(join(folder, 'images'), join(folder, 'unmounted'));
      expect((await bench.exists('base@1')).is).toBe('unknown');
      expect((await bench.exists('other@1')).is).toBe('unknown');
      expect((await bench.load('base@1')).answer).toBe('unknown');
      expect((await bench.capture('other@1')).answer).toBe('unknown');
      expect(await readdir(folder)).not.toContain('images');
      await expect(bench.delete('base@1')).rejects.toMatchObject({ kind: 'Retryable' });
      await rename(join(folder, 'unmounted'), join(folder, 'images'));
      expect(await bench.delete('base@1')).toEqual({ answer: 'done' });
      expect(await bench.delete('base@1')).toEqual({ answer: 'done' });
      expect(await bench.exists('base@1')).toEqual({ is: 'no' });
    });

    it('stays unchanged by an image that is damaged or refused', async () => {
      await bench.captureAs('base@1');
      await shop("UPDATE setting SET value = 'DKK'");
      const file = join(folder, 'images', 'base@1', 'data');
      const text = await readFile(file, 'utf8');
      await chmod(file, 0o600);
      await writeFile(file, text.replace('EUR', 'XXX'));
      await expect(bench.load('base@1')).rejects.toMatchObject({
        kind: 'ImageUnusable',
        message: expect.stringContaining('checksum'),
      });
      await appendFile(file, 'more');
      await expect(bench.load('base@1')).rejects.toMatchObject({ kind: 'ImageUnusable' });
      const fields = { programs: { ...(admin['programs'] as JsonObject), load: ['sh', '-c', 'exit 41'] } };
      await bench.captureAs('whole@1');
      await expect(bench.load('whole@1', { fields })).rejects.toMatchObject({ kind: 'ImageUnusable' });
      expect(await shop('SELECT value FROM setting')).toBe('DKK');

      await shop('CREATE VIEW odd AS SELECT value FROM setting');
      await bench.captureAs('odd@1');
      const record = join(folder, 'images', 'odd@1', 'data');
      const refused = openProgramBench({
        ...admin,
        programs: {
          ...(admin['programs'] as JsonObject),
          load: [
            'sh',
            '-c',
            `printf 'SELECT 1/0;' | cat "${record}" - >"$HEDDLE_FILE.odd"; HEDDLE_FILE="$HEDDLE_FILE.odd" exec "${postgresImage}" load`,
          ],
        },
      });
      expect((await refused.load('odd@1')).answer).toBe('not done');
      expect(await shop('SELECT value FROM odd')).toBe('DKK');
    });

    it.each(['load', 'capture'] as const)(
      'continues with a %s after the attempt detached: the program runs once',
      async (verb) => {
        await bench.captureAs('base@1');
        await shop("UPDATE setting SET value = 'DKK'");
        const fields = await heldProgram(verb);
        const image = verb === 'load' ? 'base@1' : 'next@1';
        const cut = new AbortController();
        const first = bench[verb](image, {
          fields,
          token: 't',
          signal: cut.signal,
          detach: cut.signal,
        }).catch((error: unknown) => error);
        await isStarted(1);
        cut.abort(new Error('the worker ends'));
        expect(await first).toBeInstanceOf(Error);
        const [pid = ''] = await starts();
        expect(runs(pid)).toBe(true);
        const second = bench[verb](image, { fields, token: 't' });
        await letGo();
        expect(await second).toEqual({ answer: 'done' });
        expect(await bench[verb](image, { fields, token: 't' })).toEqual({ answer: 'done' });
        expect(await starts()).toHaveLength(1);
        if (verb === 'load') expect(await shop('SELECT value FROM setting')).toBe('EUR');
        else expect(await readFile(join(folder, 'images', 'next@1', 'data'), 'utf8')).toContain('DKK');
      },
    );

    it('ends the program of a load that is cancelled or superseded; one that died is started again', async () => {
      await bench.captureAs('base@1');
      await shop("UPDATE setting SET value = 'DKK'");
      const fields = await heldProgram('load');
      const cancel = new AbortController();
      const cancelled = bench
        .load('base@1', { fields, token: 'one', signal: cancel.signal })
        .catch((error: unknown) => error);
      await isStarted(1);
      cancel.abort(new Error('cancelled'));
      expect(await cancelled).toBeInstanceOf(Error);
      expect(runs((await starts())[0] ?? '')).toBe(false);
      expect(await shop('SELECT value FROM setting')).toBe('DKK');

      const cut = new AbortController();
      const left = bench
        .load('base@1', { fields, token: 'two', signal: cut.signal, detach: cut.signal })
        .catch((error: unknown) => error);
      await isStarted(2);
      cut.abort(new Error('the worker ends'));
      await left;
      const next = bench.load('base@1', { fields, token: 'three' });
      await isStarted(3);
      expect(runs((await starts())[1] ?? '')).toBe(false);

      const pid = Number((await starts())[2]);
      const group = Number((await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ')[2]);
      const killed = expect(next).rejects.toThrow(/killed before it ended/);
      // Who waits for it dies first, and it lives on.
      process.kill(group, 'SIGKILL');
      await killed;
      expect(runs(String(pid))).toBe(true);
      await letGo();
      expect(await bench.load('base@1', { fields, token: 'three' })).toEqual({ answer: 'done' });
      expect(await starts()).toHaveLength(4);
      expect(runs(String(pid))).toBe(false);
      expect(await shop('SELECT value FROM setting')).toBe('EUR');
    });

    it('reports unknown for a run of another worker host, and continues after its end', async () => {
      await bench.captureAs('base@1');
      await shop("UPDATE setting SET value = 'DKK'");
      const fields = await heldProgram('load');
      const cut = new AbortController();
      const left = bench
        .load('base@1', { fields, token: 'one', signal: cut.signal, detach: cut.signal })
        .catch((error: unknown) => error);
      await isStarted(1);
      cut.abort(new Error('the worker ends'));
      await left;
      const [resource = ''] = await readdir(join(folder, 'runs'));
      const note = join(folder, 'runs', resource, 'run-2.json');
      await chmod(note, 0o600);
      await writeFile(
        note,
        JSON.stringify({ ...(JSON.parse(await readFile(note, 'utf8')) as object), host: 'elsewhere' }),
      );
      for (const token of ['one', 'other'])
        await expect(bench.load('base@1', { fields, token })).rejects.toThrow(/worker host elsewhere/);
      await letGo();
      await until('the run ends', async () => (await shop('SELECT value FROM setting')) === 'EUR');
      await until('its end is known', async () =>
        bench.load('base@1', { fields, token: 'one' }).then(
          ({ answer }) => answer === 'done',
          () => false,
        ),
      );
      expect(await starts()).toHaveLength(1);
    });
  },
);
