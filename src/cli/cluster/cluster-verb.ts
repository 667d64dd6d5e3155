import { requireWorker, type Session } from '../session.js';
import { verb, type Shown } from '../verb.js';
import { describeCluster } from './describe-cluster.js';

/** A verb about one cluster, which must exist and have a worker. */
export function clusterVerb<Args extends unknown[], Answer extends object | undefined>(
  ask: (session: Session, name: string, ...args: Args) => Promise<Answer>,
  shown: Omit<Shown<[name: string, ...Args], Answer>, 'worker'>,
): (name: string, ...args: Args) => Promise<number> {
  return verb<[name: string, ...Args], Answer>(async (session, name, ...args) => {
    await requireCluster(session, name);
    return ask(session, name, ...args);
  }, shown);
}

/** @throws CliError NotFound, HeddleError NoWorker */
export async function requireCluster(session: Session, name: string): Promise<void> {
  await describeCluster(session, name);
  await requireWorker(session);
}
