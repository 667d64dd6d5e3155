import { it } from 'vitest';
import { PoolClient } from '../../src/client/pool/pool-client.js';
import { poolWorkflowId } from '../../src/model/names.js';
import { until } from '../harness/until.js';
import { inStudio } from '../harness/histories/studio.js';

// As histories.record.ts.
it('records a pool that creates and deletes several nodes with one activity', () =>
  inStudio({}, async ({ stack, keep }) => {
    const pool = new PoolClient(stack.client.temporal, 'many', { by: 'test' });
    const offer = { hardware: 'tiny', image: 'host', fields: {}, uses: { nodes: 1 } };
    await pool.apply({
      name: 'many',
      tenants: {},
      labels: { small: { minReady: 0, spareAge: 600, onReturn: 'delete' } },
      providerPools: {
        main: {
          provider: 'local',
          priority: 100,
          limits: { nodes: 8 },
          attributes: {},
          launchAttempts: 3,
          labels: { small: offer },
        },
      },
    });
    const asked = await pool.requestMany(8, ['small'], { requester: 'job' });
    await Promise.all(asked.map(({ id }) => pool.waitFor(id)));
    await Promise.all(asked.slice(1).map(({ id }) => pool.return(id)));
    await until('all but one are gone', async () => (await pool.nodes()).length === 1);
    const { events } = await stack.client.temporal.workflow.getHandle(poolWorkflowId('many')).fetchHistory();
    const names = new Set(
      (events ?? []).map((event) => event.activityTaskScheduledEventAttributes?.activityType?.name),
    );
    for (const name of ['CREATE_BATCH', 'DELETE_BATCH'])
      if (!names.has(name)) throw new Error(`there is no ${name} in it: record it again`);
    await keep('pool-batches', poolWorkflowId('many'));
  }));
