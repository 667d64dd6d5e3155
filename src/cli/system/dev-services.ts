import { bringsToSpec } from '../../model/plan/intent/intent.js';
import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { HeddleClient } from '../../client/heddle-client.js';
import type { Config } from '../../config/index.js';
import type { ClusterStatus, NodeStatus } from '../../schema/output/status.js';
import { openConnection } from '../../server/connect.js';
import { cleanLine } from '../clean-text.js';
import { formatCount } from '../format.js';
import { messageOf } from '../report-error.js';
import { temporalClient } from '../session.js';
import type { DevRecord } from './dev-record.js';

/** Longest time, in ms, in which machines boot. */
const bootLimitMs = 60_000;

export interface ServicesAgain {
  readonly config: Config;
  readonly record: () => Promise<Pick<DevRecord, 'address' | 'namespace' | 'machines'>>;
  readonly say: (line: string) => void;
  /** Aborted when `heddle dev` ends. */
  readonly signal: AbortSignal;
}

/**
 * The end of the machine service is a power cut: its machines boot again without their
 * services. An apply of each cluster's own spec starts them; if a user must decide, a message
 * names what is down and which command helps.
 */
export async function startServicesAgain({ config, record, say, signal }: ServicesAgain): Promise<void> {
  const report = (what: string, error: unknown): void => {
    if (!signal.aborted)
      say(`${what} not restarted: ${messageOf(error)}; run 'heddle status NAME --probe' to see what is down`);
  };
  try {
    const { address, namespace, machines } = await record();
    await untilBooted(machines, signal);
    const connection = openConnection({ address });
    try {
      const client = new HeddleClient(temporalClient(connection, namespace, config), { by: 'heddle dev' });
      const isLocal = ({ provider = '' }: NodeStatus): boolean =>
        (config.providers[provider]?.type ?? provider) === 'local';
      const starting = (await client.list()).map(({ name }) =>
        startCluster({ client, isLocal, say, signal }, name).catch((error: unknown) =>
          report(`services of cluster ${name} were`, error),
        ),
      );
      await Promise.all(starting);
    } finally {
      await connection.close();
    }
  } catch (error) {
    report('services of clusters were', error);
  }
}

async function untilBooted(
  { endpoint, apiKeyFile }: DevRecord['machines'],
  signal: AbortSignal,
): Promise<void> {
  const authorization = `Bearer ${(await readFile(apiKeyFile, 'utf8')).trim()}`;
  for (const limit = Date.now() + bootLimitMs; Date.now() < limit; await pause(200, undefined, { signal })) {
    const response = await fetch(`${endpoint}/v1/machines`, { headers: { authorization }, signal });
    const { machines = [] } = (await response.json()) as { readonly machines?: readonly { state: string }[] };
    if (machines.every(({ state }) => state !== 'pending' && state !== 'booting')) return;
  }
}

interface Starting extends Pick<ServicesAgain, 'say' | 'signal'> {
  readonly client: HeddleClient;
  readonly isLocal: (node: NodeStatus) => boolean;
}

async function startCluster({ client, isLocal, say, signal }: Starting, name: string): Promise<void> {
  const { operation: earlier } = await client.summary(name);
  // What it started before the power cut is down, too.
  if (earlier?.state === 'running') await client.waitFor(name, earlier.id, { signal, patienceMs: Infinity });
  await client.probe(name);
  const status = await client.status(name);
  const down = status.nodes.filter((node) => node.drift?.seen === 'rebooted' && isLocal(node));
  const spec = await client.spec(name);
  if (down.length === 0 || spec === null) return;
  const machines = `${formatCount(down.length, 'machine')} of cluster ${name} rebooted`;
  const services = [...new Set(down.flatMap(({ running }) => running))];
  const obstacle = obstacleOf(status, spec.repair.rebooted === 'start', services);
  if (obstacle === undefined) {
    const { operation } = await client.apply(spec);
    say(`${machines}; operation ${operation} starts their services`);
    return;
  }
  const places = down.flatMap(({ nodeId, running }) => running.map((service) => `${service} on ${nodeId}`));
  if (places.length > 0)
    say(cleanLine(`${machines}, and ${obstacle.why}; down: ${places.join(', ')}; next: ${obstacle.next}`));
}

/** Why a user must decide whether services are started. */
function obstacleOf(
  { name, operation, queued, history }: ClusterStatus,
  repairs: boolean,
  services: readonly string[],
): { readonly why: string; readonly next: string } | undefined {
  if (operation !== undefined || queued.length > 0)
    return {
      why: `operation ${operation?.id ?? queued[0]?.id} has not ended`,
      next: `heddle status ${name}`,
    };
  const last = history.find(({ kind }) => bringsToSpec(kind));
  if (last?.state !== 'done') return { why: 'its last apply did not succeed', next: 'heddle apply FILE' };
  return repairs
    ? undefined
    : {
        why: 'its file says `repair: {rebooted: nothing}`',
        next: `heddle restart ${name} ${services.join(' ')}`,
      };
}
