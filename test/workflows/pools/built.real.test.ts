import { beforeAll, describe, expect, it } from 'vitest';
import { PoolClient } from '../../../src/client/pool/pool-client.js';
import type { PoolSpec } from '../../../src/model/pool/spec.js';
import { type Stack, startStack } from '../../harness/stack.js';
import { until } from '../../harness/until.js';
import { type Ground, greeting, openGround, recipe } from '../../harness/image/ground.js';

describe('a pool of nodes with a built image', () => {
  let stack: Stack;
  let ground: Ground;

  beforeAll(async () => {
    stack = await startStack({ config: { periodicChecks: { every: '2s' } } });
    await Promise.all([stack.startWorker(), stack.startBuilder()]);
    ground = openGround(stack);
  });

  it('has ready nodes of the newest version, replaced without a gap, and rolls back with the image', async () => {
    const pool = new PoolClient(stack.client.temporal, 'built', { by: 'test' });
    const offer = { hardware: 'tiny', libraryImage: 'web', fields: {}, uses: { nodes: 1 } };
    const spec: PoolSpec = {
      name: 'built',
      tenants: {},
      labels: { a: { minReady: 2, spareAge: 600, onReturn: 'delete' } },
      providerPools: {
        main: {
          provider: 'local',
          priority: 100,
          limits: {},
          attributes: {},
          launchAttempts: 3,
          labels: { a: offer },
        },
      },
    };
    await pool.apply(spec);
    // Nobody has made the image yet.
    const early = await pool.request(['a']);
    await until(
      'it waits for its image',
      async () =>
        (await pool.requests([early.id]))[0]?.waits === 'provider pool main: image web does not exist',
    );
    await ground.apply('web', {
      recipe,
      ...greeting('/dev/null', 'one'),
      validate: { command: 'grep one "$HOME/greeting"' },
    });
    await ground.build('web');
    // Applied again it asks at once; by itself it would within a minute.
    expect(await pool.apply(spec)).toMatchObject({ unchanged: true });
    const first = await pool.waitFor(early.id);
    const ready = async (version: string): Promise<boolean> => {
      const nodes = (await pool.nodes()).filter(({ state }) => state === 'ready');
      return nodes.length === 2 && nodes.every(({ image }) => image === version);
    };
    await until('two of the first', () => ready('web@1'));
    expect((await pool.view()).labels['a']?.servedBy).toMatchObject([
      { image: { name: 'web', version: 'web@1' } },
    ]);
    expect((await ground.see('web')).pools).toEqual(['built']);

    await ground.apply('web', {
      recipe,
      ...greeting('/dev/null', 'two'),
      validate: { command: 'grep two "$HOME/greeting"' },
    });
    await ground.build('web');
    let least = 2;
    await until(
      'two of the second',
      async () => {
        least = Math.min(least, (await pool.nodes()).filter(({ state }) => state === 'ready').length);
        return ready('web@2');
      },
      120_000,
    );
    expect(least).toBe(2);
    expect((await pool.nodes()).filter(({ state }) => state === 'in-use')).toMatchObject([
      { id: first.nodes?.[0]?.id, image: 'web@1', replaced: 'superseded' },
    ]);

    await stack.client.images.rollBack('web');
    await until('two of the first again', () => ready('web@1'));
    await until('the second is gone', async () => !(await ground.has('web@2')));

    await pool.return(early.id);
    await pool.deletePool();
    await pool.gone();
    await stack.client.images.delete('web');
    await stack.client.images.gone('web');
    expect(await ground.has('web@1')).toBe(false);
    expect(await ground.hostnames()).toEqual([]);
  });
});
