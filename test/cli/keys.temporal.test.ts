import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { createKeys, openKeyRing } from '../../src/secrets/keys.js';
import { heddle } from '../../src/temporal-plugin.js';
import { makeNamespace } from '../harness/namespace.js';
import { until } from '../harness/until.js';
import { type Ended, runHeddle } from '../harness/cli/run-heddle.js';

describe('heddle keys', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'heddle-cli-keys-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const run = (
    data: string,
    words: readonly string[],
    more: { readonly stdin?: string; readonly env?: Readonly<Record<string, string>> } = {},
  ): Promise<Ended> =>
    runHeddle(['keys', ...words], {
      distPath: inject('distPath'),
      cwd: folder,
      ...more,
      env: { HEDDLE_DATA_FOLDER: join(folder, data), ...more.env },
    });
  const listed = async (data: string): Promise<readonly { id: string; current: boolean }[]> =>
    (JSON.parse((await run(data, ['list', '--json'])).stdout) as { keys: { id: string; current: boolean }[] })
      .keys;

  const runDelete = (data: string, env: Readonly<Record<string, string>>): Promise<Ended> =>
    runHeddle(['delete', 'web', '--yes'], {
      distPath: inject('distPath'),
      cwd: folder,
      env: { ...env, HEDDLE_DATA_FOLDER: join(folder, data) },
    });

  interface KnownCluster {
    /** Reaches the namespace of the cluster. */
    readonly env: Readonly<Record<string, string>>;
    /** Matches errors that name its key. */
    readonly says: string;
    /** The types of its events so far. */
    readonly history: () => Promise<readonly unknown[]>;
  }

  /** A cluster that keys in a folder of their own encrypt, without a worker. */
  async function withCluster(use: (cluster: KnownCluster) => Promise<void>): Promise<void> {
    const connection = await Connection.connect({ address: inject('temporalAddress') });
    try {
      const namespace = await makeNamespace(connection, 'keys');
      const [used] = createKeys(join(folder, 'used')).list();
      const keys = openKeyRing({ folder: join(folder, 'used'), create: false });
      const temporal = new Client({ connection, namespace, plugins: [heddle({ keys, namespace })] });
      const handle = await temporal.workflow.start('cluster', {
        workflowId: 'cluster/web',
        taskQueue: 'heddle',
        args: [{ name: 'web' }],
        memo: { heddleUid: 'u' },
      });
      await until('the server lists the cluster', async () => {
        for await (const _ of temporal.workflow.list()) return true;
        return false;
      });
      await use({
        env: { TEMPORAL_ADDRESS: inject('temporalAddress'), TEMPORAL_NAMESPACE: namespace },
        says: expect.stringMatching(
          new RegExp(`uses key ${used?.id}, which is not in .*heddle keys export.*heddle keys import`),
        ) as string,
        history: async () => ((await handle.fetchHistory()).events ?? []).map(({ eventType }) => eventType),
      });
    } finally {
      await connection.close();
    }
  }

  it('creates one first key, and no second one', async () => {
    expect(await run('a', ['list'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('heddle keys create'),
    });
    expect(await run('a', ['create'])).toMatchObject({ code: 0 });
    expect(await listed('a')).toHaveLength(1);
    expect(await run('a', ['create'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('heddle keys rotate'),
    });
  });

  it('creates none where a namespace uses a key, and names that key', async () => {
    await withCluster(async ({ env, says }) => {
      expect(await run('a', ['create'], { env })).toMatchObject({ code: 3, stderr: says });
      expect(await run('a', ['list'])).toMatchObject({ code: 1 });
      expect(await runDelete('a', env)).toMatchObject({ code: 1, stderr: says });
    });
  });

  it('sends no delete with the keys of another installation, and names the key that is needed', async () => {
    await withCluster(async ({ env, says, history }) => {
      await run('a', ['create']);
      const before = await history();
      const { code, stderr } = await runDelete('a', env);
      expect(stderr).toEqual(says);
      expect(stderr).toContain('nothing was sent');
      expect(code).toBe(1);
      expect(await history()).toEqual(before);
    });
  });

  it('says which key encrypts after an import into a folder with a key of its own', async () => {
    await run('a', ['create']);
    await run('b', ['create']);
    await run('a', ['export', 'out.json']);
    const [[own], [imported]] = [await listed('b'), await listed('a')];
    const { stdout } = await run('b', ['import', 'out.json']);
    expect(stdout).toContain(`key ${own?.id}, which is not among them, still encrypts`);
    expect(stdout).toContain(`heddle keys rotate --to ${imported?.id}`);
  });

  it('moves keys from one folder to another in a file that only its owner reads', async () => {
    await run('a', ['create']);
    expect(await run('a', ['export', 'out.json'])).toMatchObject({ code: 0 });
    expect((await stat(join(folder, 'out.json'))).mode & 0o777).toBe(0o600);
    for (const [file, why] of [
      ['out.json', 'there is one already'],
      ['absent/out.json', 'the folder for it does not exist'],
    ] as const)
      expect(await run('a', ['export', file])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(`cannot write ${file}: ${why}`),
      });
    expect(await run('b', ['import', 'out.json'])).toMatchObject({ code: 0 });
    expect(await listed('b')).toEqual(await listed('a'));
    expect(await run('b', ['import', 'out.json'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('nothing new'),
    });
  });

  it('exports to a pipe and imports from one', async () => {
    await run('a', ['create']);
    const { stdout } = await run('a', ['export']);
    expect(await run('b', ['import', '-'], { stdin: stdout })).toMatchObject({ code: 0 });
    expect(await listed('b')).toEqual(await listed('a'));
  });

  it('stages a key that encrypts nothing until it is activated', async () => {
    await run('a', ['create']);
    const [first] = await listed('a');
    await run('a', ['rotate', '--stage']);
    const staged = (await listed('a')).find(({ id }) => id !== first?.id);
    expect((await listed('a')).find(({ current }) => current)?.id).toBe(first?.id);
    expect(await run('a', ['rotate', '--to', staged?.id ?? ''])).toMatchObject({ code: 0 });
    expect((await listed('a')).find(({ current }) => current)?.id).toBe(staged?.id);
    await run('a', ['rotate']);
    expect(await listed('a')).toHaveLength(3);
  });

  it('prints no key when it lists them', async () => {
    await run('a', ['create']);
    const { keys } = JSON.parse(await readFile(join(folder, 'a', 'keys', 'keys.json'), 'utf8')) as {
      keys: { key: string }[];
    };
    const shown = await run('a', ['list']);
    expect(keys[0]?.key).toMatch(/.{40}/);
    expect(shown.stdout + shown.stderr + (await run('a', ['list', '--json'])).stdout).not.toContain(
      keys[0]?.key,
    );
  });

  it('does not change keys that HEDDLE_KEYS supplies', async () => {
    await run('a', ['create']);
    const { stdout } = await run('a', ['export']);
    expect(await run('b', ['list'], { env: { HEDDLE_KEYS: stdout } })).toMatchObject({ code: 0 });
    expect(await run('b', ['rotate'], { env: { HEDDLE_KEYS: stdout } })).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('HEDDLE_KEYS'),
    });
  });
});
