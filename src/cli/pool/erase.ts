import { HeddleError } from '../../client/errors.js';
import type { PoolClient } from '../../client/pool/pool-client.js';
import type { PoolNodeView } from '../../model/pool/view.js';
import type { ServerOptions } from '../configuration.js';
import { CliError } from '../errors.js';
import { formatCount } from '../format.js';
import { describeError } from '../report-error.js';
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
    const results = await Promise.all(
      concerned.map(({ pool }) =>
        deleteNodesOf(pool, account, options).then(
          (nodes) => ({ pool: pool.name, nodes }),
          (error: unknown) => ({ pool: pool.name, error }),
        ),
      ),
    );
    return {
      account,
      erased: results.filter((result) => 'nodes' in result),
      failed: results.filter((result) => 'error' in result),
      silent,
    };
  },
  {
    worker: true,
    document: ({ account, erased, silent }) => ({ account, erased, silent }),
    error: ({ failed }) => errorOf(failed),
    table: {
      head: ['POOL', 'NODES'],
      rows: ({ erased }) => erased.map(({ pool, nodes }) => [pool, nodes.join(', ')]),
    },
    print: (output, { erased, silent }, account, { abandon = false }) => {
      noteSilent(output, 'pool', silent);
      if (erased.length === 0) return;
      output.line(`the nodes of account ${account} are ${abandon ? 'forgotten' : 'being deleted'}`);
      output.line('pools create others unless limits: {nodes: 0} of their provider pools disables that');
    },
  },
);

/** One error for all pools that failed; nodes of the others are being deleted nevertheless. */
function errorOf(
  failed: readonly { readonly pool: string; readonly error: unknown }[],
): CliError | undefined {
  const [first] = failed;
  if (first === undefined) return undefined;
  const reports = failed.map(({ pool, error }) => ({ pool, ...describeError(error) }));
  const texts = reports.map(({ pool, message }) => `pool ${pool}: ${message}`);
  return new CliError(reports[0]?.code ?? 'Failed', texts.join('\n'), {
    next: reports[0]?.next,
    cause: first.error,
  });
}

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
