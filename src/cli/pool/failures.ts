import type { PoolFailure } from '../../schema/output/pool.js';
import type { ServerOptions } from '../configuration.js';
import { formatDuration } from '../format.js';
import { noteSilent, verb } from '../verb.js';
import { askPools } from './pool-verb.js';

/** What failed in each pool in the last day. */
export const failures = verb(
  async (session, name: string | undefined, _options: ServerOptions) => {
    const { answers, silent } = await askPools(session, name, async (pool) => ({
      pool: pool.name,
      failures: await pool.failures(),
    }));
    return { pools: answers, silent };
  },
  {
    worker: true,
    table: {
      head: ['POOL', 'LAST', 'TIMES', 'WHAT', 'LABEL', 'PROVIDER POOL', 'NODE', 'WHY'],
      rows: ({ pools }) =>
        pools.flatMap(({ pool, failures: found }) =>
          found.map((failure) => [pool, ...rowOf(failure, Date.now())]),
        ),
      empty: 'nothing failed in the last day',
    },
    print: (output, { silent }) => noteSilent(output, 'pool', silent),
  },
);

function rowOf(
  { at, times, stage, kind, label, providerPool, node, why }: PoolFailure,
  now: number,
): readonly string[] {
  const what = kind === undefined ? stage : `${stage}: ${kind}`;
  return [`${formatDuration(now - at)} ago`, String(times), what, label, providerPool, node, why];
}
