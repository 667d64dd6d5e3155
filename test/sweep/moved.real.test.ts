import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { PoolClient } from '../../src/client/pool/pool-client.js';
import { openGround } from '../harness/image/ground.js';
import { startStack, type Stack } from '../harness/stack.js';
import { until } from '../harness/until.js';

/** Two namespaces with the machines and images of one account. */
describe('what was moved to another namespace', () => {
  let from: Stack;
  let to: Stack;
  beforeAll(async () => {
    const pack = 'mkdir files && echo hello >files/greeting && tar -cf "$HEDDLE_OUTPUT.tar" files';
    const config: Record<string, unknown> = {
      sweep: { every: '1h', minimumAge: '1ms', cap: 5, delete: true },
    };
    const options = { temporalAddress: inject('temporalAddress'), distPath: inject('distPath'), config };
    from = await startStack(options);
    config['builder'] = {
      builds: 5,
      folder: join(from.folder, 'files'),
      commands: { pack: { run: ['/bin/sh', '-c', pack] } },
    };
    const { endpoint, apiKeyFile } = from.service;
    const fields = { endpoint, apiKey: { secret: `file:${apiKeyFile}` } };
    to = await startStack({ ...options, accounts: { local: { type: 'local', fields } } });
    await Promise.all([from, to].flatMap((stack) => [stack.startWorker(), stack.startBuilder()]));
  }, 240_000);
  afterAll(async () => {
    await to.stop();
    await from.stop();
  });

  /** Passes of both sweeps until that of the new namespace has deleted something. */
  const untilDeleted = (): Promise<unknown> =>
    until('it is deleted', async () => {
      expect(await from.client.sweep()).toMatchObject({ leaks: [], deleted: [], refused: [] });
      return (await to.client.sweep()).deleted[0];
    });

  /** With one ready node. */
  async function openPool(name: string): Promise<PoolClient> {
    const pool = new PoolClient(from.client.temporal, name, { by: 'test' });
    await pool.apply({
      name,
      tenants: {},
      labels: { a: { minReady: 1, spareAge: 600, onReturn: 'delete' } },
      providerPools: {
        main: {
          provider: 'local',
          priority: 100,
          limits: { nodes: 1 },
          attributes: {},
          launchAttempts: 2,
          labels: { a: { hardware: 'tiny', image: 'host', fields: {}, uses: { nodes: 1 } } },
        },
      },
    });
    await until('it has a ready node', async () => (await pool.nodes())[0]?.state === 'ready');
    return pool;
  }

  it('is ignored by the sweep of a namespace that it has left again', async () => {
    const source = await openPool('back');
    const target = new PoolClient(to.client.temporal, 'back', { by: 'test' });
    await target.restore(await source.export());
    await source.restore(await target.export());
    const [old] = await source.nodes();
    await source.deleteNodes([old?.id ?? '']);
    await until('it has a new machine', async () => {
      const [next] = await source.nodes();
      return next !== undefined && next.id !== old?.id && next.state === 'ready';
    });
    const { leaks, accounts } = await to.client.sweep();
    expect(leaks).toEqual([]);
    expect(accounts).toContainEqual({ name: 'local', machines: 0, leaks: 0 });
    expect(await from.client.sweep()).toMatchObject({ leaks: [], deleted: [] });
    await source.deletePool();
    await source.gone();
  });

  it('is deleted by the new sweep if the restored pool was terminated, and by no sweep before', async () => {
    const source = await openPool('ci');
    await openPool('stays');
    const target = new PoolClient(to.client.temporal, 'ci', { by: 'test' });
    await target.restore(await source.export());
    // The index of the server shows a restored pool a moment later.
    await until('the new sweep lists its machine', async () => {
      const { leaks, accounts } = await to.client.sweep();
      expect(leaks).toEqual([]);
      return accounts.some(({ name, machines }) => name === 'local' && machines === 1);
    });
    await to.client.temporal.workflow.getHandle('pool/ci').terminate('a person did so');
    expect(await untilDeleted()).toMatchObject({ account: 'local' });
    expect(await from.service.machines()).toMatchObject([{ hostname: 'stays-a-1' }]);
  });

  it('is an image with its builds, which the restored one offers, deletes, and leaves to the new sweep', async () => {
    const how = {
      command: { run: 'pack', formats: ['tar'] },
      uploads: [{ provider: 'local' }],
      validate: false,
    };
    const { apply, build, has, see } = openGround(from);
    await apply('web', how);
    for (const number of [1, 2]) expect(await build('web')).toMatchObject({ number, state: 'ready' });
    const { images } = from.client;
    const records = await images.export('web');
    expect(await images.export('web')).toEqual(records);
    const refused = { code: 'Refused', message: expect.stringContaining('was exported by test') as string };
    for (const change of [() => images.build('web'), () => images.delete('web'), () => apply('web', how)])
      await expect(change()).rejects.toMatchObject(refused);

    const restored = to.client.images;
    expect(await restored.restore(records)).toEqual({ unchanged: false });
    expect(await restored.restore(records)).toEqual({ unchanged: true });
    expect(await restored.show('web')).toMatchObject({ newest: 2, restored: { from: records.exported.id } });
    expect(await to.client.sweep()).toMatchObject({ leaks: [], deleted: [] });
    await restored.delete('web', 2);
    await restored.waitUntilDeleted('web', 2);
    expect([await has('web@1'), await has('web@2')]).toEqual([true, false]);
    expect(await see('web')).toMatchObject({ doing: 'is exported' });
    const next = await restored.build('web');
    expect(await restored.waitForBuild('web', next.build)).toMatchObject({ number: 3 });
    await to.client.temporal.workflow.getHandle('image/web').terminate('a person did so');
    await until('all are deleted', async () => {
      await untilDeleted();
      return !(await has('web@1')) && !(await has('web@3'));
    });
  });

  it('is an image that goes on if its export is cancelled', async () => {
    const { apply, build, has } = openGround(from);
    await apply('kept', {
      command: { run: 'pack', formats: ['tar'] },
      uploads: [{ provider: 'local' }],
      validate: false,
    });
    await build('kept');
    const records = await from.client.images.export('kept');
    await expect(from.client.images.restore(records)).rejects.toMatchObject({
      code: 'Refused',
      message: expect.stringContaining('image kept already exists') as string,
    });
    await from.client.images.cancelExport('kept');
    await from.client.images.delete('kept');
    await from.client.images.gone('kept');
    expect(await has('kept@1')).toBe(false);
  });
});
