import { describe, expect, inject, it } from 'vitest';
import type { Client } from '@temporalio/client';
import { PoolClient } from '../../../src/client/pool/pool-client.js';
import { poolWorkflowId } from '../../../src/model/names.js';
import { PluginError } from '../../../src/plugins/errors.js';
import { openHarness, type Harness } from '../../harness/faults/harness.js';
import { until } from '../../harness/until.js';

async function inHarness(
  use: (harness: Harness) => Promise<void>,
  more: { readonly cachedWorkflows?: number } = {},
): Promise<void> {
  const harness = await openHarness({
    temporalAddress: inject('temporalAddress'),
    workflowBundlePath: inject('workflowBundlePath'),
    ...more,
  });
  try {
    await use(harness);
  } finally {
    await harness.stop();
  }
}

async function open({ client }: Harness, name: string): Promise<PoolClient> {
  const pool = new PoolClient(client.temporal, name, { by: 'test' });
  const offer = { hardware: 'small', image: 'host', fields: {}, uses: { nodes: 1 } };
  await pool.apply({
    name,
    tenants: {},
    labels: { a: { minReady: 0, spareAge: 600, onReturn: 'delete' } },
    providerPools: {
      main: {
        provider: 'memory',
        priority: 100,
        limits: {},
        attributes: {},
        launchAttempts: 3,
        labels: { a: offer },
      },
    },
  });
  return pool;
}

/**
 * Asks for so many nodes, of which every `unlucky`th is not made at the first try; gives them back, and waits
 * until all are gone.
 */
async function burst(
  { cloud }: Harness,
  pool: PoolClient,
  { count, unlucky }: { readonly count: number; readonly unlucky: number },
): Promise<void> {
  for (let number = unlucky; number <= count; number += unlucky) {
    cloud.beforeCreate(`${pool.name}-a-${number}`, () =>
      Promise.reject(new PluginError('Retryable', 'busy', { retryAfterMs: 1 })),
    );
  }
  const asked = await pool.requestMany(count, ['a']);
  const got = await Promise.all(asked.map(async ({ id }) => pool.waitFor(id)));
  expect(new Set(got.map(({ nodes }) => nodes?.[0]?.id)).size).toBe(count);
  const made = cloud.made(poolWorkflowId(pool.name));
  expect(made).toHaveLength(count);
  expect(new Set(made).size).toBe(count);
  await Promise.all(got.map(async ({ id }) => pool.return(id)));
  await until('all machines are gone', () => cloud.machines(poolWorkflowId(pool.name)).length === 0);
}

/** Events of each run of a pool's workflow, the last run first. */
async function runsOf(temporal: Client, name: string): Promise<readonly number[]> {
  const lengths: number[] = [];
  for (let runId: string | undefined; ;) {
    const { events } = await temporal.workflow.getHandle(poolWorkflowId(name), runId).fetchHistory();
    lengths.push(events?.length ?? 0);
    runId = events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId ?? '';
    if (runId === '') return lengths;
  }
}

describe('a busy pool', () => {
  it('continues in a new run before its replay takes a worker long, although its history is far below the limits', () =>
    inHarness(async (harness) => {
      const pool = await open(harness, 'worn');
      await burst(harness, pool, { count: 260, unlucky: 1 });
      const runs = await runsOf(harness.client.temporal, 'worn');
      expect(runs.length).toBeGreaterThan(1);
      expect(Math.max(...runs)).toBeLessThan(4_000);
      await pool.deletePool();
      await pool.gone();
    }));

  it('is served by workers without a cache: each replays what another started', () =>
    inHarness(
      async (harness) => {
        const pool = await open(harness, 'forgotten');
        await burst(harness, pool, { count: 30, unlucky: 10 });
        await pool.deletePool();
        await pool.gone();
        expect(harness.warnings.filter((text) => text.includes('TMPRL1100'))).toEqual([]);
      },
      { cachedWorkflows: 0 },
    ));
});
