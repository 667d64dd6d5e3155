import pLimit from 'p-limit';
import { anySignal } from '../../model/signals.js';
import type { HealthObservation, ProbedNode, ProbeRequest } from '../../model/node/probe.js';
import { findLogin } from '../provider/address.js';
import type { Attempt } from '../attempt.js';
import { probeOnce, type Checked } from './health.js';
import type { ActivityParts } from '../parts.js';

/** Nodes checked at once. */
const atOnce = 32;

/**
 * Checks each service that has a check once, on the nodes that answer. An obstacle is reported as the result.
 */
export async function checkServices(
  parts: ActivityParts,
  { provider }: ProbeRequest,
  nodes: readonly ProbedNode[],
  attempt: Attempt,
): Promise<readonly HealthObservation[]> {
  const stop = anySignal([attempt.signal, attempt.detach]);
  const found = await pLimit(atOnce).map(nodes, async (node): Promise<readonly HealthObservation[]> => {
    const { nodeId, incarnation, checks = {} } = node;
    const checked = await reach(parts, provider.name, node, attempt).catch((error: unknown) => {
      stop.throwIfAborted();
      return error instanceof Error ? error.message : String(error);
    });
    const observations: HealthObservation[] = [];
    for (const [service, check] of Object.entries(checks)) {
      const { why, well } =
        typeof checked === 'string'
          ? { well: false, why: checked }
          : { why: undefined, ...(await probeOnce(parts, check, checked, stop)) };
      observations.push({
        nodeId,
        incarnation,
        service,
        well,
        why: why === undefined ? undefined : attempt.redact(why),
      });
    }
    return observations;
  });
  return found.flat();
}

async function reach(
  parts: ActivityParts,
  account: string,
  { nodeId, config }: ProbedNode,
  attempt: Attempt,
): Promise<Checked> {
  const { address } = await findLogin(parts, { account, config }, attempt);
  const { ipaddress } = config;
  const shell = parts.nodes.shell(address, {
    // It runs no script that would need a run or a permit.
    runId: 'check',
    fence: { node: nodeId, time: 0, operation: '-' },
    claims: attempt.claims,
    signal: attempt.signal,
    detach: attempt.detach,
    log: attempt.log,
    onOutput: () => undefined,
  });
  return { address, ipaddress: typeof ipaddress === 'string' ? ipaddress : address.host, shell };
}
