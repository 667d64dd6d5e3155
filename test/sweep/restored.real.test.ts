import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { SweepReport } from '../../src/client/index.js';
import { heddleSearchAttributes } from '../../src/server/setup.js';
import { type RunningServer, startServer } from '../../src/server/start.js';
import { runHeddle, type Ended } from '../harness/cli/run-heddle.js';
import { type Stack, startStack } from '../harness/stack.js';
import { closed, nodes } from '../harness/workflows/spec.js';
import { type Ledger, openLedger } from '../harness/workflows/ledger.js';
import { newFolder } from '../harness/folder.js';

describe('the sweep, after a backup of the database was restored', () => {
  let folder: string;
  let server: RunningServer;
  let stack: Stack;
  let ledger: Ledger;

  const start = (port: number): Promise<RunningServer> =>
    startServer({
      binary: inject('temporalBinary'),
      dataFolder: join(folder, 'server'),
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

  const apply = async (name: string, count: number): Promise<readonly string[]> => {
    const spec = closed({
      name,
      nodes: { app: nodes(count, ['app']) },
      services: { app: { actions: { start: ledger.script() } } },
    });
    const { operation } = await stack.client.apply(spec);
    const end = await stack.client.waitFor(name, operation, { everyMs: 100 });
    expect(end.operation.state).toBe('done');
    return end.status.nodes.flatMap(({ providerid }) => providerid ?? []);
  };
  const kindsOf = ({ leaks }: SweepReport): Readonly<Record<string, string>> =>
    Object.fromEntries(leaks.map(({ providerid, kind }) => [providerid, kind]));
  const deletedMachines = async (): Promise<number> => (await stack.service.journal('delete')).length;
  const alive = async (): Promise<readonly string[]> =>
    (await stack.service.machines()).filter(({ state }) => state !== 'gone').map(({ id }) => String(id));
  const heddle = (...words: readonly string[]): Promise<Ended> =>
    runHeddle(words, {
      distPath: inject('distPath'),
      env: {
        HEDDLE_CONFIG: join(stack.folder, 'worker.yaml'),
        TEMPORAL_ADDRESS: server.address,
        TEMPORAL_NAMESPACE: stack.namespace,
      },
    });

  it('deletes nothing that the database has no record of, and nothing at all until a user resumes it', async () => {
    const { client } = stack;
    const before = await stack.startWorker();
    const old = await apply('old', 2);
    const [doomed = ''] = await apply('doomed', 1);
    await client.temporal.workflow.getHandle('cluster/doomed').terminate('by hand');
    await before.stop();
    await restart(() => cp(join(folder, 'server'), join(folder, 'backup'), { recursive: true }));

    // After the backup: a new cluster, more nodes and another machine of the old one, and a
    // pass of the sweep.
    const since = await stack.startWorker();
    const made = await apply('new', 2);
    const grown = (await apply('old', 3)).filter((id) => !old.includes(id));
    const { operation } = await client.operate('old', { kind: 'replace', nodes: ['app-1'] });
    const { status } = await client.waitFor('old', operation, { everyMs: 100 });
    const replaced = status.nodes.flatMap(({ nodeId, providerid = '' }) =>
      nodeId === 'app-1' ? [providerid] : [],
    );
    expect((await client.sweep()).refused).toEqual([]);
    await since.stop();
    const [machines, deletions] = [await alive(), await deletedMachines()];
    await restart(async () => {
      await rm(join(folder, 'server'), { recursive: true });
      await cp(join(folder, 'backup'), join(folder, 'server'), { recursive: true });
    });

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
    const third = await client.sweep();
    expect(third).toMatchObject({
      deleted: [],
      stopped: { why: expect.stringContaining('restored from an older backup') },
    });
    const shown = await heddle('leaks');
    expect(shown.stdout).toContain('heddle leaks --resume');
    expect(shown.stdout).toContain('this database has no record of it; deleted only by name');
    expect(await heddle('leaks', '--resume')).toMatchObject({ code: 2 });
    expect(await alive()).toEqual(machines);
    expect(await deletedMachines()).toBe(deletions);

    expect(await heddle('leaks', '--resume', '--yes')).toMatchObject({ code: 0 });
    const resumed = await client.sweep();
    expect(resumed).toMatchObject({ refused: [], deleted: [{ providerid: doomed }] });
    expect((await alive()).toSorted()).toEqual(machines.filter((id) => id !== doomed).toSorted());

    // A cluster of the same name takes over the machines that fit, and leaves the others.
    expect(await apply('new', 1)).toEqual([made[0]]);
    const last = await client.sweep();
    expect(kindsOf(last)[made[1] ?? '']).toBe('unknown');
    expect(await deletedMachines()).toBe(deletions + 1);
    const [left = ''] = grown;
    expect(await heddle('leaks', '--delete', left, '--yes')).toMatchObject({ code: 0 });
    expect(await alive()).not.toContain(left);
  });
});
