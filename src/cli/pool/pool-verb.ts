import { HeddleError } from '../../client/errors.js';
import { listPools } from '../../client/list.js';
import { PoolClient } from '../../client/pool/pool-client.js';
import { poolWorkflowId } from '../../model/names.js';
import { readWorkflows } from '../system/server-view.js';
import { findTroubles } from '../system/troubles.js';
import type { Session } from '../session.js';
import { verb, type Shown } from '../verb.js';

/** A verb about one pool. When the pool does not answer, the error says what the server knows about it. */
export function poolVerb<Args extends unknown[], Answer extends object | undefined>(
  ask: (pool: PoolClient, session: Session, ...args: Args) => Promise<Answer>,
  shown: Shown<[name: string, ...Args], Answer>,
): (name: string, ...args: Args) => Promise<number> {
  return verb<[name: string, ...Args], Answer>(
    (session, name, ...args) => askPool(session, name, (pool) => ask(pool, session, ...args)),
    { ...shown, worker: true },
  );
}

function askPool<Answer>(
  session: Session,
  name: string,
  ask: (pool: PoolClient) => Promise<Answer>,
): Promise<Answer> {
  return ask(new PoolClient(session.temporal, name)).catch(async (error: unknown) => {
    throw await withTroubles(session, name, error);
  });
}

/** Answers of one pool, or of all; pools that do not answer are named in `silent`. */
export async function askPools<Answer>(
  session: Session,
  name: string | undefined,
  ask: (pool: PoolClient) => Promise<Answer>,
): Promise<{ readonly answers: readonly Answer[]; readonly silent: readonly string[] }> {
  if (name !== undefined) return { answers: [await askPool(session, name, ask)], silent: [] };
  const pools = await listPools(session.temporal);
  const results = await Promise.allSettled(
    pools.map((pool) => ask(new PoolClient(session.temporal, pool.name))),
  );
  const failure = results.find((result) => result.status === 'rejected' && !isSilence(result.reason));
  if (failure?.status === 'rejected') throw failure.reason;
  return {
    answers: results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : [])),
    silent: pools.flatMap((pool, index) =>
      results[index]?.status === 'rejected' && !isGone(results[index].reason) ? [pool.name] : [],
    ),
  };
}

function isSilence(error: unknown): boolean {
  return isGone(error) || (error instanceof HeddleError && error.code === 'NoWorker');
}

/** The pool ended after it was listed. */
function isGone(error: unknown): boolean {
  return error instanceof HeddleError && error.code === 'NotFound';
}

/** The error, with what keeps the pool from an answer if that is it. */
export async function withTroubles({ temporal }: Session, name: string, error: unknown): Promise<unknown> {
  if (!(error instanceof HeddleError) || error.code !== 'NoWorker') return error;
  const view = await readWorkflows(temporal, [poolWorkflowId(name)], `pool ${name}`).catch(() => undefined);
  const troubles = view === undefined ? [] : findTroubles(view, Date.now());
  if (troubles.length === 0) return error;
  const stuck = troubles.map(({ text }) => `stuck: ${text}`).join('\n');
  return new HeddleError('NoWorker', `pool ${name} does not answer\n${stuck}`, {
    cause: error,
    next: troubles[0]?.next?.command,
  });
}
