import { HeddleError } from '../../client/errors.js';
import type { PoolClient } from '../../client/pool/pool-client.js';
import type { PoolNodeView } from '../../model/pool/view.js';
import type { ServerOptions } from '../configuration.js';
import { CliError } from '../errors.js';
import { formatCount } from '../format.js';
import { confirm } from '../terminal.js';
import { noteSilent, verb } from '../verb.js';
import { usersOf } from './nodes.js';
import { askPools } from './pool-verb.js';

export interface EraseOptions extends ServerOptions {
  readonly abandon?: boolean;
  readonly yes?: boolean;
}

/** Deletes the nodes of a provider account in all pools. */
export const erase = verb(
  async (session, account: string, options: EraseOptions) => {
    const { answers, silent } = await askPools(session, undefined, async (pool) => ({
      pool,
      nodes: await nodesOf(pool, account, options),
    }));
    const concerned = answers.filter(({ nodes }) => nodes.length > 0);
    const all = concerned.flatMap(({ nodes }) => nodes);
    if (all.length === 0)
      throw silent.length === 0
        ? new CliError('NotFound', `no pool has a node of account ${account}`, { next: 'heddle pool nodes' })
        : new CliError(
            'NoWorker',
            `pools ${silent.join(', ')} do not answer; no other pool has a node of account ${account}`,
            { next: 'heddle worker' },
          );
    const names = concerned.map(({ pool }) => pool.name).join(', ');
    await confirm(
      `Delete ${formatCount(all.length, 'node')} of account ${account} in pools ${names}${usersOf(all)}?`,
      options,
    );
    const erased = await Promise.all(
      concerned.map(async ({ pool }) => ({
        pool: pool.name,
        nodes: await deleteNodesOf(pool, account, options),
      })),
    );
    return { account, erased, silent };
  },
  {
    worker: true,
    table: {
      head: ['POOL', 'NODES'],
      rows: ({ erased }) => erased.map(({ pool, nodes }) => [pool, nodes.join(', ')]),
    },
    print: (output, { silent }, account, { abandon = false }) => {
      output.line(`the nodes of account ${account} are ${abandon ? 'forgotten' : 'being deleted'}`);
      output.line('pools create others unless limits: {nodes: 0} of their provider pools disables that');
      noteSilent(output, 'pool', silent);
    },
  },
);

async function nodesOf(
  pool: PoolClient,
  account: string,
  { abandon = false }: EraseOptions,
): Promise<readonly PoolNodeView[]> {
  return (await pool.nodes()).filter(
    ({ provider, state }) => provider === account && (abandon || state !== 'deleting'),
  );
}

/** A pool refuses to delete nodes of which one is gone by now: then those that are left are deleted. */
async function deleteNodesOf(
  pool: PoolClient,
  account: string,
  options: EraseOptions,
): Promise<readonly string[]> {
  for (let attempt = 1; ; attempt += 1) {
    const ids = (await nodesOf(pool, account, options)).map(({ id }) => id);
    if (ids.length === 0) return ids;
    try {
      await pool.deleteNodes(ids, options.abandon === true ? { abandon: true } : {});
      return ids;
    } catch (error) {
      if (!(error instanceof HeddleError && error.code === 'NotFound') || attempt === 10) throw error;
    }
  }
}
