import { mkdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { stringify } from 'yaml';
import type { SweepReport } from '../../src/client/index.js';
import { heddleSearchAttributes } from '../../src/server/setup.js';
import { type RunningServer, startServer } from '../../src/server/start.js';
import { runHeddle, type Ended } from '../harness/cli/run-heddle.js';
import { openShell, shellBlocks } from '../harness/docs/page-blocks.js';
import { noPostgres, startPostgresService } from '../harness/postgres-service.js';
import { type Stack, startStack } from '../harness/stack.js';
import { closed, nodes } from '../harness/workflows/spec.js';
import { type Ledger, openLedger } from '../harness/workflows/ledger.js';
import { newFolder } from '../harness/folder.js';

const page = 'docs/guides/backup.md';
const [exportKeys = '', dump = '', saveFolder = ''] = shellBlocks(page, 'Back up');
const [
  restoreDump = '',
  restoreFolder = '',
  importKeys = '',
  replay = '',
  look = '',
  sweep = '',
  apply = '',
  remove = '',
  resume = '',
] = shellBlocks(page, 'Restore');

describe('the runbook of docs/guides/backup.md, and the sweep after it', () => {
  let folder: string;
  let server: RunningServer;
  let stack: Stack;
  let ledger: Ledger;

  const start = (port: number): Promise<RunningServer> =>
    startServer({
      binary: inject('temporalBinary'),
      dataFolder: join(folder, '.local/share/heddle/server'),
      port,
      ui: false,
      searchAttributes: heddleSearchAttributes,
      say: () => undefined,
    });
  const restart = async (whileStopped: () => Promise<void>): Promise<void> => {
    const port = Number(server.address.split(':')[1]);
    await server.stop();
    await whileStopped();
    server = await start(port);
  };
  beforeAll(async () => {
    folder = newFolder();
    mkdirSync(join(folder, '.local/share/heddle/server'), { recursive: true });
    ledger = openLedger(folder);
    server = await start(0);
    stack = await startStack({
      temporalAddress: server.address,
      distPath: inject('distPath'),
      config: { sweep: { every: '1h', minimumAge: '1ms', delete: true } },
    });
  });
  afterAll(async () => {
    await stack.stop();
    await server.stop();
  });

  const specOf = (name: string, count: number): object => ({
    name,
    nodes: { app: nodes(count, ['app']) },
    services: { app: { actions: { start: ledger.script() } } },
  });
  const machinesOf = async (name: string): Promise<readonly string[]> =>
    (await stack.client.status(name)).nodes.flatMap(({ providerid }) => providerid ?? []);
  const applySpec = async (name: string, count: number): Promise<readonly string[]> => {
    const { operation } = await stack.client.apply(closed(specOf(name, count)));
    const end = await stack.client.waitFor(name, operation, { everyMs: 100 });
    expect(end.operation.state).toBe('done');
    return machinesOf(name);
  };
  const kindsOf = ({ leaks }: SweepReport): Readonly<Record<string, string>> =>
    Object.fromEntries(leaks.map(({ providerid, kind }) => [providerid, kind]));
  const deletedMachines = async (): Promise<number> => (await stack.service.journal('delete')).length;
  const alive = async (): Promise<readonly string[]> =>
    (await stack.service.machines()).filter(({ state }) => state !== 'gone').map(({ id }) => String(id));
  const environment = (): Readonly<Record<string, string>> => ({
    HEDDLE_CONFIG: join(stack.folder, 'worker.yaml'),
    TEMPORAL_ADDRESS: server.address,
    TEMPORAL_NAMESPACE: stack.namespace,
  });
  const heddle = (...words: readonly string[]): Promise<Ended> =>
    runHeddle(words, { distPath: inject('distPath'), env: environment() });

  it('delete nothing that the database has no record of, and nothing at all until a user resumes it', async () => {
    const { client } = stack;
    const type = openShell(folder, inject('distPath'), environment);
    const before = await stack.startWorker();
    const old = await applySpec('old', 2);
    const [doomed = ''] = await applySpec('doomed', 1);
    await client.temporal.workflow.getHandle('cluster/doomed').terminate('by hand');
    await type(exportKeys);
    await before.stop();
    await restart(async () => void (await type(saveFolder)));

    // After the backup: a new cluster, more nodes and another machine of the old one, and a
    // pass of the sweep.
    const since = await stack.startWorker();
    const made = await applySpec('new', 2);
    const grown = (await applySpec('old', 3)).filter((id) => !old.includes(id));
    const { operation } = await client.operate('old', { kind: 'replace', nodes: ['app-1'] });
    const { status } = await client.waitFor('old', operation, { everyMs: 100 });
    const replaced = status.nodes.flatMap(({ nodeId, providerid = '' }) =>
      nodeId === 'app-1' ? [providerid] : [],
    );
    expect((await client.sweep()).refused).toEqual([]);
    await since.stop();
    const [machines, deletions] = [await alive(), await deletedMachines()];
    await restart(async () => void (await type(restoreFolder)));
    await type(importKeys);
    expect(await type(replay)).toContain('ok   cluster/old');

    // A worker without memories finds out by the tags.
    const fresh = await stack.startWorker('fresh');
    await client.sweep();
    const second = await client.sweep();
    expect(second.deleted).toEqual([]);
    expect(second.refused).toEqual([expect.stringMatching(/^4 machines .*no record of them \(.*new/)]);
    const unknown = [...made, ...grown, ...replaced];
    expect(kindsOf(second)).toEqual({
      [doomed]: 'orphan',
      ...Object.fromEntries(unknown.map((id) => [id, 'unknown'])),
    });
    await fresh.stop();

    // One that took part in a pass knows it besides.
    await stack.startWorker();
    expect(await type(look)).toMatch(/^old /m);
    const shown = await type(sweep);
    expect(shown).toContain('restored from an older backup');
    expect(shown).toContain('heddle leaks --resume');
    expect(shown).toContain('this database has no record of it; deleted only by name');
    expect(await heddle('leaks', '--resume')).toMatchObject({ code: 2 });
    expect(await alive()).toEqual(machines);
    expect(await deletedMachines()).toBe(deletions);

    // A cluster of the same name takes over the machines that fit, and leaves the others.
    await writeFile(join(folder, 'new.yaml'), stringify(specOf('new', 1)));
    await type(apply);
    expect(await machinesOf('new')).toEqual([made[0]]);
    const [left = ''] = grown;
    await type(`${remove.trim().replace('MACHINE', left)} --yes`);
    expect(await alive()).not.toContain(left);
    expect(await deletedMachines()).toBe(deletions + 1);

    await type(resume.replace('--resume', '--resume --yes'));
    const gone = [left, doomed];
    expect((await alive()).toSorted()).toEqual(machines.filter((id) => !gone.includes(id)).toSorted());
    const last = await client.sweep();
    expect(last.refused).toEqual([]);
    expect(kindsOf(last)[made[1] ?? '']).toBe('unknown');
    expect(await deletedMachines()).toBe(deletions + 2);
  });
});

describe.skipIf(noPostgres !== undefined)('the commands of docs/guides/backup.md for PostgreSQL', () => {
  it('restore both databases as they were, beside the damaged ones', async () => {
    const folder = newFolder();
    const names = ['temporal', 'temporal_visibility'] as const;
    const postgres = await startPostgresService(names);
    try {
      const { PGDATABASE: _, ...server } = postgres.resources[0]?.environment ?? {};
      const type = openShell(folder, inject('distPath'), () => server);
      for (const name of names)
        await postgres.sql(name, `CREATE TABLE executions AS SELECT '${name}' AS run`);
      await type(dump);
      for (const name of names) await postgres.sql(name, 'UPDATE executions SET run = NULL');
      await type(restoreDump);
      for (const name of names) {
        expect(await postgres.sql(name, 'SELECT run FROM executions')).toBe(name);
        expect(await postgres.sql(`${name}_damaged`, 'SELECT run FROM executions')).toBe('');
      }
    } finally {
      await postgres.stop();
    }
  });
});
