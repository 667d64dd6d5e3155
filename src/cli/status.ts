import { HeddleError } from '../client/errors.js';
import { endedStates } from '../model/operation.js';
import { cleanLine } from './clean-text.js';
import { describeCluster, type ClusterDescription } from './cluster.js';
import type { ServerOptions } from './configuration.js';
import { exitCodes } from './exit-codes.js';
import { followOperation } from './follow-operation.js';
import { createOutput, type Output } from './output.js';
import { describeError } from './report-error.js';
import { reportEnd } from './report-operation.js';
import { requireWorker, withSession, type Session } from './session.js';
import { printNodes, printStatus } from './status-text.js';
import { formatAge } from './time-text.js';

export async function status(name: string, options: ServerOptions & { readonly watch?: boolean }): Promise<number> {
  const output = createOutput(options);
  return withSession(options, async (session) => {
    const described = await describeCluster(session, name);
    try {
      await requireWorker(session);
      const found = await session.client.status(name);
      if (options.watch === true) return await watch(session, output, name);
      printStatus(output, found, Date.now());
      output.document(found);
      return exitCodes.ok;
    } catch (error) {
      if (!(error instanceof HeddleError) || error.code !== 'NoWorker') throw error;
      return reportWhatIsKnown(output, described, error);
    }
  });
}

export async function nodes(name: string, options: ServerOptions): Promise<number> {
  const output = createOutput(options);
  return withSession(options, async (session) => {
    await describeCluster(session, name);
    await requireWorker(session);
    const found = await session.client.status(name);
    printNodes(output, found.nodes, Date.now());
    output.document({ cluster: name, nodes: found.nodes });
    return exitCodes.ok;
  });
}

/** Follows the operation under way to its end; with --json every look is a line. */
async function watch(session: Session, output: Output, name: string): Promise<number> {
  const { operation, ...found } = await session.client.status(name);
  if (operation === undefined || operation.state === 'held' || endedStates.includes(operation.state)) {
    printStatus(output, operation === undefined ? found : { ...found, operation }, Date.now());
    output.record(found);
    return exitCodes.ok;
  }
  const end = await followOperation(session, output, { name, operation: operation.id, since: Date.now(), onStatus: (look) => output.record(look) });
  if (!output.json) return reportEnd(output, end, { now: Date.now() });
  return end.operation.state === 'done' ? exitCodes.ok : exitCodes.failed;
}

/** Without a worker nobody can be asked for nodes; the server's own record still tells something. */
function reportWhatIsKnown(output: Output, described: ClusterDescription, cause: HeddleError): number {
  const { name, uid, phase, createdAt } = described;
  output.line(`cluster ${cleanLine(name)}: ${phase ?? 'phase unknown'} (as the server last heard)`);
  if (uid !== undefined) output.line(`uid ${cleanLine(uid)}`);
  output.line(`there for ${formatAge(createdAt, Date.now())}; nodes and tasks are known to workers alone`);
  const error = describeError(cause);
  output.document({ ...described, partial: true, error });
  if (!output.json) {
    output.note(`error: ${cause.message}`);
    output.note('next: heddle worker');
  }
  return exitCodes.unavailable;
}
