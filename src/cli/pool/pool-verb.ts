import { HeddleError } from '../../client/errors.js';
import { PoolClient } from '../../client/pool/pool-client.js';
import { poolWorkflowId } from '../../model/names.js';
import { lookAtWorkflows } from '../system/server-view.js';
import { findTroubles } from '../system/troubles.js';
import type { Session } from '../session.js';
import { verb, type Shown } from '../verb.js';

/** A verb about one pool. When the pool does not answer, the error says what the server knows about it. */
export function poolVerb<Args extends unknown[], Answer extends object | undefined>(
  ask: (pool: PoolClient, session: Session, ...args: Args) => Promise<Answer>,
  shown: Shown<[name: string, ...Args], Answer>,
): (name: string, ...args: Args) => Promise<number> {
  return verb<[name: string, ...Args], Answer>(
    (session, name, ...args) =>
      ask(new PoolClient(session.temporal, name), session, ...args).catch(async (error: unknown) => {
        throw await withTroubles(session, name, error);
      }),
    { ...shown, worker: true },
  );
}

/** The error, with what keeps the pool from an answer if that is it. */
export async function withTroubles({ temporal }: Session, name: string, error: unknown): Promise<unknown> {
  if (!(error instanceof HeddleError) || error.code !== 'NoWorker') return error;
  const view = await lookAtWorkflows(temporal, [poolWorkflowId(name)], `pool ${name}`).catch(() => undefined);
  const troubles = view === undefined ? [] : findTroubles(view, Date.now());
  if (troubles.length === 0) return error;
  const stuck = troubles.map(({ text }) => `stuck: ${text}`).join('\n');
  return new HeddleError('NoWorker', `pool ${name} does not answer\n${stuck}`, {
    cause: error,
    next: troubles[0]?.next?.command,
  });
}
