import { randomUUID } from 'node:crypto';
import { PoolClient } from '../../client/pool/pool-client.js';
import { anySignal } from '../../model/signals.js';
import type { ServerOptions } from '../configuration.js';
import { CliError } from '../errors.js';
import type { Session } from '../session.js';
import { verb } from '../verb.js';
import { catchInterrupt } from '../interrupts.js';
import { askPools, withTroubles } from './pool-verb.js';
import { heldFor, heldMs, renewOften } from './renewal.js';
import { untilReturned } from './return-requests.js';
import { highestCode, readCommand, runOnNodes, type RunInPool } from './run-on-nodes.js';

export interface RunOptions extends ServerOptions {
  readonly pool?: string;
  /** Nodes; all at once. */
  readonly count?: number;
  /** A file or a folder. */
  readonly copy?: string;
  readonly priority?: number;
  readonly requester?: string;
  readonly tenant?: string;
  readonly providerPool?: string;
  /** Ms. */
  readonly lease?: number;
}

/** Runs a command on nodes that a pool allocates for it, and returns them. */
export const run = verb(
  async (session, label: string, words: readonly string[], options: RunOptions) => {
    const command = await readCommand(words, options);
    const pool = new PoolClient(session.temporal, options.pool ?? (await choosePool(session, label)));
    return runInPool(session, pool, label, command, options).catch(async (error: unknown) => {
      throw await withTroubles(session, pool.name, error);
    });
  },
  { worker: true, exitCode: ({ results }) => highestCode(results) },
);

/** The only pool with the label. */
async function choosePool(session: Session, label: string): Promise<string> {
  const { answers, silent } = await askPools(session, undefined, async (pool) => {
    const { labels } = await pool.view();
    return Object.hasOwn(labels, label) ? [pool.name] : [];
  });
  const having = answers.flat();
  if (silent.length > 0)
    throw new CliError('NoWorker', `pools ${silent.join(', ')} do not answer: choose one with --pool`, {
      next: 'heddle worker',
    });
  const [only, ...others] = having;
  if (only === undefined)
    throw new CliError('NotFound', `no pool has label ${label}`, { next: 'heddle pool list' });
  if (others.length > 0)
    throw new CliError('Usage', `pools ${having.join(', ')} have label ${label}: choose one with --pool`);
  return only;
}

async function runInPool(
  session: Session,
  pool: PoolClient,
  label: string,
  command: string,
  options: RunOptions,
): Promise<RunInPool> {
  const { output } = session;
  const { count = 1, priority, requester, tenant, providerPool, lease: leaseMs = heldMs } = options;
  const id = randomUUID();
  const { signal: interrupted, race, release } = catchInterrupt();
  const expired = new AbortController();
  let stopRenewal = (): void => undefined;
  const demand = { id, priority, requester, tenant, providerPool, leaseMs, heldMs: heldFor(leaseMs) };
  const use = async (): Promise<RunInPool> => {
    const labels = Array.from({ length: count }, () => label);
    let request = await race(pool.request(labels, demand));
    stopRenewal = renewOften(pool, [id], {
      leaseMs,
      onEnded: () => expired.abort(new Error(`the lease of request ${id} ended, so its nodes were released`)),
    });
    if (request.state !== 'fulfilled') {
      output.note(`request ${id}: waiting; Ctrl-C returns it`);
      request = await race(pool.waitFor(id));
    }
    const results = await runOnNodes(session, pool, request, command, {
      copy: options.copy,
      signal: anySignal([interrupted, expired.signal]),
    });
    interrupted.throwIfAborted();
    return { pool: pool.name, request: id, results };
  };
  const [end] = await Promise.allSettled([use()]);
  stopRenewal();
  const isReturned = await untilReturned(output, `request ${id}`, pool.return(id));
  release();
  if (end.status === 'fulfilled') return end.value;
  if (!interrupted.aborted) throw end.reason;
  throw new CliError('Interrupted', isReturned ? `interrupted; request ${id} is returned` : 'interrupted', {
    next: `heddle request list ${pool.name}`,
    cause: end.reason,
  });
}
