import { HeddleError } from '../../client/errors.js';
import type { PoolClient } from '../../client/pool/pool-client.js';
import { nodesWithoutUser } from '../../model/pool/node.js';
import type { PoolNodeView } from '../../schema/output/pool.js';
import type { ServerOptions } from '../configuration.js';
import { CliError } from '../errors.js';
import { formatCount } from '../format.js';
import { describeError } from '../report-error.js';
import { confirm } from '../terminal.js';
import { noteSilent, verb } from '../verb.js';
import { namesOfUsers, usersOf } from './nodes.js';
import { askPools } from './pool-verb.js';

export interface EraseOptions extends ServerOptions {
  readonly abandon?: boolean;
  /** Nodes that are in use or held, too. */
  readonly inUse?: boolean;
  readonly yes?: boolean;
}

interface InPool {
  readonly pool: PoolClient;
  /** What is deleted. */
  readonly nodes: readonly PoolNodeView[];
  /** Nodes in use, which stay. */
  readonly kept: readonly PoolNodeView[];
}

/** Deletes the nodes of a provider account in all pools. */
export const erase = verb(
  async (session, account: string, options: EraseOptions) => {
    const { answers, silent } = await askPools(session, undefined, async (pool) => ({
      pool,
      ...(await nodesOf(pool, account, options)),
    }));
    const spared = answers.filter(({ kept }) => kept.length > 0);
    const kept = spared.flatMap((one) => one.kept);
    const concerned = answers.filter(({ nodes }) => nodes.length > 0);
    if (concerned.length === 0) throw nothingToErase(account, kept, silent);
    await confirm(questionOf(account, concerned, kept), options);
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
      kept,
      inUse: spared.map(({ pool, kept: nodes }) => ({ pool: pool.name, nodes: nodes.map(({ id }) => id) })),
      silent,
    };
  },
  {
    worker: true,
    document: ({ account, erased, inUse, silent }) => ({ account, erased, inUse, silent }),
    error: ({ failed }) => errorOf(failed),
    table: {
      head: ['POOL', 'NODES'],
      rows: ({ erased }) => erased.map(({ pool, nodes }) => [pool, nodes.join(', ')]),
    },
    print: (output, { erased, kept, silent }, account, { abandon = false }) => {
      noteSilent(output, 'pool', silent);
      if (kept.length > 0) output.note(keptText(kept));
      if (erased.length === 0) return;
      output.line(`these nodes of account ${account} are ${abandon ? 'forgotten' : 'being deleted'}`);
      output.line('pools create new ones unless limits: {nodes: 0} of their provider pools prevents it');
    },
  },
);

/** Names what is deleted. */
function questionOf(account: string, concerned: readonly InPool[], kept: readonly PoolNodeView[]): string {
  const all = concerned.flatMap(({ nodes }) => nodes);
  const names = concerned.map(({ pool, nodes }) => {
    const more = nodes.length - 10;
    const first = nodes.slice(0, 10).map(({ id }) => id);
    return `pool ${pool.name}: ${first.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  });
  const stays = kept.length === 0 ? '' : ` (${keptText(kept)})`;
  return `Delete ${formatCount(all.length, 'node')} of account ${account}${usersOf(all)}: ${names.join('; ')}?${stays}`;
}

function keptText(kept: readonly PoolNodeView[]): string {
  const [stay, them] = kept.length === 1 ? ['stays', 'it'] : ['stay', 'them'];
  return `${formatCount(kept.length, 'node')} in use or held${namesOfUsers(kept)} ${stay}; --in-use deletes ${them} too`;
}

function nothingToErase(account: string, kept: readonly PoolNodeView[], silent: readonly string[]): CliError {
  if (kept.length > 0)
    return new CliError('Refused', `account ${account} has no other nodes: ${keptText(kept)}`, {
      next: `heddle pool erase ${account} --in-use`,
    });
  return silent.length === 0
    ? new CliError('NotFound', `no pool has a node of account ${account}`, { next: 'heddle pool nodes' })
    : new CliError(
        'NoWorker',
        `pools ${silent.join(', ')} do not answer; no other pool has a node of account ${account}`,
        { next: 'heddle worker' },
      );
}

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
  { abandon = false, inUse = false }: EraseOptions,
): Promise<Omit<InPool, 'pool'>> {
  const all = await pool.nodes();
  const free = new Set(inUse ? all : nodesWithoutUser(all));
  const ofAccount = all.filter(
    ({ provider, state }) => provider === account && (abandon || state !== 'deleting'),
  );
  return {
    nodes: ofAccount.filter((node) => free.has(node)),
    kept: ofAccount.filter((node) => !free.has(node)),
  };
}

/** A pool refuses a request with a node that is gone: then the remaining ones are deleted. */
async function deleteNodesOf(
  pool: PoolClient,
  account: string,
  options: EraseOptions,
): Promise<readonly string[]> {
  for (let attempt = 1; ; attempt += 1) {
    const ids = (await nodesOf(pool, account, options)).nodes.map(({ id }) => id);
    if (ids.length === 0) return ids;
    try {
      return await pool.deleteNodes(ids, {
        ...(options.abandon === true ? { abandon: true } : {}),
        // Nodes that were allocated since then stay.
        ...(options.inUse === true ? {} : { withoutUser: true }),
      });
    } catch (error) {
      if (!(error instanceof HeddleError && error.code === 'NotFound') || attempt === 10) throw error;
    }
  }
}
