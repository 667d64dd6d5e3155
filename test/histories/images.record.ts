import { it } from 'vitest';
import { PoolClient } from '../../src/client/pool/pool-client.js';
import { poolWorkflowId } from '../../src/model/names.js';
import { until } from '../harness/until.js';
import { openGround as openImages, recipe } from '../harness/image/ground.js';
import { inStudio } from '../harness/histories/studio.js';

// As histories.record.ts.
it('records an image that is built, kept, rolled back, paused and deleted, and a pool that makes nodes from it', () =>
  inStudio({}, async ({ stack, keep }) => {
    await stack.startBuilder();
    const { apply, build, see } = openImages(stack);
    await apply('web', { recipe: { ...recipe, services: [] }, keep: 2 });
    await build('web');
    const pool = new PoolClient(stack.client.temporal, 'built', { by: 'test' });
    const offer = { hardware: 'tiny', libraryImage: 'web', fields: {}, uses: { nodes: 1 } };
    await pool.apply({
      name: 'built',
      tenants: {},
      labels: { a: { minReady: 1, spareAge: 600, onReturn: 'delete' } },
      providerPools: {
        main: {
          provider: 'local',
          priority: 100,
          limits: { nodes: 3 },
          attributes: {},
          launchAttempts: 3,
          labels: { a: offer },
        },
      },
    });
    const all = async (version: string): Promise<boolean> => {
      const nodes = await pool.nodes();
      return nodes.length === 1 && nodes.every(({ state, image }) => state === 'ready' && image === version);
    };
    await until('a node of the first', () => all('web@1'));
    await build('web');
    await until('a node of the second', () => all('web@2'));
    await build('web');
    await until('the oldest is gone', async () =>
      (await see('web')).builds.every(({ number }) => number !== 1),
    );
    await until('a node of the third', () => all('web@3'));
    await stack.client.images.rollBack('web');
    await until('a node of the second again', () => all('web@2'));
    await stack.client.images.resume('web');
    await stack.client.images.pause('web');
    await keep('pool-built', poolWorkflowId('built'));
    await pool.deletePool();
    await pool.gone();
    await stack.client.images.delete('web');
    await stack.client.images.gone('web');
    await keep('image', 'image/web');
  }));
