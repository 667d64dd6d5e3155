import pLimit from 'p-limit';
import type { ServiceLogs } from '../../../schema/cluster/service-logs.js';
import { cleanLine } from '../../clean-text.js';
import { CliError, exitCodes } from '../../errors.js';
import { catchInterrupt } from '../../interrupts.js';
import { describeRun } from '../../run-on-node.js';
import type { Session } from '../../session.js';
import { requireCluster } from '../cluster-verb.js';
import { selectNodes } from '../select-nodes.js';
import { followServiceLogs } from './follow-service-logs.js';
import type { LogsOptions } from './options.js';
import { type Place, placesOf, readServiceLog, type Reading } from './read-service-log.js';

const defaultLines = 100;
/** Nodes that are read at once. */
const atOnce = 20;

/** What only the logs of tasks have. */
const onlyTasks = ['action', 'operation', 'since', 'level', 'services'] as const;

/**
 * Shows what a service writes on its nodes, by its `logs` in the file. The lines of several nodes come as
 * they arrive, each after the name of its node.
 */
export async function serviceLogs(
  session: Session,
  cluster: string,
  node: string | undefined,
  options: LogsOptions,
): Promise<{ readonly code: number }> {
  const unfit = onlyTasks.find((option) => options[option] !== undefined);
  if (unfit !== undefined)
    throw new CliError('Usage', `--${unfit} selects logs of tasks; it has no effect with --source service`);
  const { service, follow = false, tail = defaultLines } = options;
  if (service === undefined) throw new CliError('Usage', '--source service needs --service, such as app');
  await requireCluster(session, cluster);
  const logs = await declaredLogs(session, cluster, service);
  const status = await session.client.status(cluster);
  const selection = { nodes: options.nodes, services: [service], groups: options.groups };
  const nodes = selectNodes(status, { ...selection, node });
  const { signal, release } = catchInterrupt();
  const reading: Reading = { session, cluster, service, logs, tail, signal, isOne: nodes.length === 1 };
  try {
    if (follow)
      return await followServiceLogs({ ...reading, isOne: node !== undefined }, status, {
        ...selection,
        node,
      });
    const limit = pLimit(atOnce);
    const ends = await Promise.all(
      placesOf(status, nodes).map((place) => limit(() => readNode(reading, place))),
    );
    if (signal.aborted) return { code: exitCodes.interrupted };
    return { code: ends.every(Boolean) ? exitCodes.ok : exitCodes.failed };
  } finally {
    release();
  }
}

/** @throws CliError NotFound for an unknown service, or one whose logs the file does not declare. */
async function declaredLogs({ client }: Session, cluster: string, service: string): Promise<ServiceLogs> {
  const services = (await client.spec(cluster))?.services ?? {};
  const next = `heddle get ${cluster}`;
  if (!Object.hasOwn(services, service))
    throw new CliError(
      'NotFound',
      `cluster ${cluster} has no service ${cleanLine(service)}; it has ${Object.keys(services).join(', ') || 'none'}`,
      { next },
    );
  const logs = services[service]?.logs;
  if (logs !== undefined) return logs;
  throw new CliError(
    'NotFound',
    `the file of ${cluster} does not say where the logs of ${service} are: add services.${service}.logs, such as {files: [/var/log/${service}.log]}, and apply it`,
    { next },
  );
}

/** Reads what is there. Returns whether that was possible. */
async function readNode(reading: Reading, place: Place): Promise<boolean> {
  const end = await readServiceLog(reading, place, { lines: reading.tail, follow: false });
  if (end.exitCode === 0) return true;
  if (!reading.signal.aborted) reading.session.output.note(describeRun(end));
  return false;
}
