import type { TenantWaiting } from '../../schema/output/pool.js';
import type { ServerOptions } from '../configuration.js';
import { formatDuration } from '../format.js';
import { noteSilent, verb } from '../verb.js';
import { askPools } from './pool-verb.js';

/** Which tenants wait in each pool, and for what. */
export const waiting = verb(
  async (session, name: string | undefined, _options: ServerOptions) => {
    const { answers, silent } = await askPools(session, name, async (pool) => ({
      pool: pool.name,
      tenants: await pool.waiting(),
    }));
    return { pools: answers, silent };
  },
  {
    worker: true,
    table: {
      head: ['POOL', 'TENANT', 'WAITING', 'OLDEST', 'NODES', 'WEIGHT', 'SHARE', 'FAIR SHARE', 'WAITS FOR'],
      rows: ({ pools }) =>
        pools.flatMap(({ pool, tenants }) => tenants.map((tenant) => [pool, ...rowOf(tenant, Date.now())])),
      empty: 'no request waits',
    },
    print: (output, { silent }) => noteSilent(output, 'pool', silent),
  },
);

function rowOf(waits: TenantWaiting, now: number): readonly string[] {
  const { tenant = '-', waiting: count, oldest, nodes, weight, share, fairShare, reasons } = waits;
  const texts = reasons.map(({ why, requests }) => (reasons.length === 1 ? why : `${requests} for ${why}`));
  return [
    tenant,
    String(count),
    formatDuration(now - oldest),
    String(nodes),
    String(weight),
    percent(share),
    percent(fairShare),
    texts.join('; '),
  ];
}

function percent(part: number): string {
  return `${Math.round(part * 100)}%`;
}
