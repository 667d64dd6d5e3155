import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { beforeEach, describe, expect, inject, it } from 'vitest';
import { keepSchedules, type ScheduleSettings } from '../../src/server/schedules.js';
import { createKeys, openKeyRing } from '../../src/secrets/keys.js';
import { heddle } from '../../src/temporal-plugin.js';
import { makeNamespace } from '../harness/namespace.js';
import { until } from '../harness/until.js';
import { type Ended, runHeddle } from '../harness/cli/run-heddle.js';
import { newFolder } from '../harness/folder.js';

const schedules: ScheduleSettings = {
  sweep: { every: 3_600, minimumAge: 60, cap: 5, delete: false },
  periodicChecks: { every: 3_600 },
};

describe('heddle keys', () => {
  let folder: string;
  beforeEach(() => {
    folder = newFolder();
  });

  const run = (
    data: string,
    words: readonly string[],
    more: { readonly stdin?: string; readonly env?: Readonly<Record<string, string>> } = {},
  ): Promise<Ended> =>
    runHeddle(['keys', ...words], {
      distPath: inject('distPath'),
      cwd: folder,
      ...more,
      env: { TEMPORAL_ADDRESS: '127.0.0.1:9', HEDDLE_DATA_FOLDER: join(folder, data), ...more.env },
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
      stderr: expect.stringMatching(
        /^error\[Encryption\].*heddle keys create[^]*next: heddle keys import FILE/,
      ) as string,
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

  it('removes a key only when no workflow, ended run or schedule of the namespace needs it', async () => {
    const connection = await Connection.connect({ address: inject('temporalAddress') });
    try {
      const namespace = await makeNamespace(connection, 'keys');
      const env = { TEMPORAL_ADDRESS: inject('temporalAddress'), TEMPORAL_NAMESPACE: namespace };
      expect(await run('a', ['create'], { env })).toMatchObject({ code: 0 });
      const [old] = await listed('a');
      const keys = openKeyRing({ folder: join(folder, 'a', 'keys'), create: false });
      const temporal = new Client({ connection, namespace, plugins: [heddle({ keys, namespace })] });
      const remove = (): Promise<Ended> => run('a', ['remove', old?.id ?? '', '--yes'], { env });
      expect(await remove()).toMatchObject({
        code: 3,
        stderr: expect.stringContaining('is in use for encryption; rotate to another key first'),
      });
      await keepSchedules(temporal, schedules, keys.current().id);
      const started = await temporal.workflow.start('cluster', {
        workflowId: 'cluster/web',
        taskQueue: 'heddle',
        args: [{ name: 'web' }],
      });
      await until('the server lists the cluster', async () => {
        for await (const _ of temporal.workflow.list()) return true;
        return false;
      });
      await run('a', ['rotate'], { env });
      expect(JSON.parse((await run('a', ['list', '--json'], { env })).stdout)).toMatchObject({
        namespace,
        keys: [
          {
            id: old?.id,
            current: false,
            uses: { open: ['cluster/web'], schedules: expect.arrayContaining(['heddle-sweep']), workers: [] },
          },
          { current: true, uses: { open: [], schedules: [], workers: [] } },
        ],
      });
      expect(await remove()).toMatchObject({
        code: 3,
        stderr: expect.stringMatching(/needs it: 1 workflow \(cluster\/web\), 2 schedules/),
      });

      // A worker that starts after the rotation encrypts them again.
      const fresh = openKeyRing({ folder: join(folder, 'a', 'keys'), create: false });
      const rotated = new Client({ connection, namespace, plugins: [heddle({ keys: fresh, namespace })] });
      await keepSchedules(rotated, schedules, fresh.current().id);
      await started.terminate('test');
      await until('only the ended run needs it', async () => {
        const { code, stderr } = await remove();
        return code === 3 && stderr.includes('needs it: 1 ended run;');
      });

      await temporal.workflowService.deleteWorkflowExecution({
        namespace,
        workflowExecution: { workflowId: 'cluster/web' },
      });
      await until('the run is forgotten', async () => {
        for await (const _ of temporal.workflow.list()) return false;
        return true;
      });
      expect(await run('a', ['remove', old?.id ?? ''], { env })).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('pass --yes'),
      });
      expect(await remove()).toMatchObject({ code: 0 });
      expect((await listed('a')).map(({ id }) => id)).toEqual([fresh.current().id]);
    } finally {
      await connection.close();
    }
  });

  it('keeps a key that only the middle of a history needs, which a list does not read', async () => {
    const connection = await Connection.connect({ address: inject('temporalAddress') });
    try {
      const namespace = await makeNamespace(connection, 'keys');
      const env = { TEMPORAL_ADDRESS: inject('temporalAddress'), TEMPORAL_NAMESPACE: namespace };
      await run('a', ['create']);
      const clientOf = (): Client => {
        const keys = openKeyRing({ folder: join(folder, 'a', 'keys'), create: false });
        return new Client({ connection, namespace, plugins: [heddle({ keys, namespace })] });
      };
      const earlier = clientOf();
      await run('a', ['rotate']);
      const [old] = (await listed('a')).filter(({ current }) => !current);
      const later = clientOf();
      const { workflowId } = await later.workflow.start('cluster', {
        workflowId: 'cluster/web',
        taskQueue: 'heddle',
        args: [{ name: 'web' }],
      });
      for (const client of [earlier, later]) await client.workflow.getHandle(workflowId).signal('x', 'y');
      await until('the server lists the cluster', async () => {
        for await (const _ of later.workflow.list()) return true;
        return false;
      });
      expect((await run('a', ['list'], { env })).stdout).toMatch(
        new RegExp(`^${old?.id} .* none found$[^]*More may need a key`, 'm'),
      );
      expect(await run('a', ['remove', old?.id ?? '', '--yes'], { env })).toMatchObject({
        code: 3,
        stderr: expect.stringContaining('needs it: 1 workflow (cluster/web);'),
      });
    } finally {
      await connection.close();
    }
  });

  it('removes no key while no server answers', async () => {
    await run('a', ['create']);
    const [old] = await listed('a');
    await run('a', ['rotate']);
    expect(await run('a', ['remove', old?.id ?? '', '--yes'])).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('no server responds'),
    });
    expect(await listed('a')).toHaveLength(2);
    expect(await run('a', ['remove', 'k0', '--yes'])).toMatchObject({ code: 2 });
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
      ['out.json', 'it already exists'],
      ['absent/out.json', 'its folder does not exist'],
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
