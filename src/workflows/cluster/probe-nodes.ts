import { accountRef, probedNode } from '../../model/node/assigned-machine.js';
import { ActivityFailure, log } from '@temporalio/workflow';
import type { HealthObservation, ProbedNode, ProbeRequest } from '../../model/node/probe.js';
import type { NodeState } from '../../model/node/state.js';
import { recordHealth, recordObservation } from '../../model/node/record.js';
import type { ServiceSpec } from '../../model/cluster/spec.js';
import { changeNode, type NodesMemory } from './memory.js';
import { now } from '../entity.js';
import { probeBatches } from '../probe-batches.js';
import { schedule } from '../schedule.js';
import { condition } from '../inbox.js';

export interface Probed {
  readonly memory: NodesMemory;
  /** Name and uid of the cluster. */
  readonly clusterId: string;
  readonly uid: string;
  readonly services: Readonly<Record<string, ServiceSpec>>;
  isHalted(): boolean;
}

/** Probes the machines and records what is found. Unknown results leave the record as it was. */
export async function probeNodes(surveyed: Probed): Promise<void> {
  const { memory } = surveyed;
  const nodes = Object.values(memory.state.nodes).filter(
    ({ facts, leaving, placement }) => facts.CONFIRM === true && leaving !== true && placement !== undefined,
  );
  let open = true;
  const all = Promise.all(
    probeBatches(nodes, (node) => node).map(async (batch) => probeBatch(surveyed, batch)),
  ).finally(() => {
    open = false;
  });
  await Promise.race([all, condition(() => !open || surveyed.isHalted())]);
}

async function probeBatch(
  { memory, clusterId, uid, services }: Probed,
  nodes: readonly NodeState[],
): Promise<void> {
  const placement = nodes[0]?.placement;
  if (placement === undefined) return;
  const request: ProbeRequest = {
    clusterId,
    provider: accountRef(placement),
    nodes: nodes.map((node) => ({ ...probedNode(uid, node), ...checksOf(node, services) })),
  };
  try {
    const {
      observations,
      unknown,
      health = [],
    } = await schedule('PROBE_NODES', request, {
      at: placement,
      summary: `PROBE_NODES ${request.nodes.length} nodes of ${placement.provider}`,
    });
    for (const { nodeId, why } of unknown) log.warn(`the state of ${nodeId} is unknown`, { why });
    for (const { nodeId, incarnation } of nodes) {
      if (unknown.some((one) => one.nodeId === nodeId)) continue;
      const observation = observations.find((found) => found.nodeId === nodeId);
      const found = health.filter((one) => one.nodeId === nodeId);
      changeNode(memory, nodeId, (node) =>
        node.incarnation === incarnation
          ? withHealth(recordObservation(node, observation, now()), found)
          : node,
      );
    }
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error;
    // An apply continues with what is known: tasks that need an unreachable provider report it.
    log.warn(`the machines of provider ${placement.provider} could not be probed`, {
      why: error.cause?.message ?? error.message,
    });
  }
}

/** Only of what runs there anything can be said. */
function checksOf({ facts }: NodeState, services: Probed['services']): Pick<ProbedNode, 'checks'> {
  const checks = Object.entries(services).flatMap(([name, { check }]) =>
    check === undefined || facts.services[name]?.START === undefined ? [] : [[name, check] as const],
  );
  return checks.length === 0 ? {} : { checks: Object.fromEntries(checks) };
}

/** An action that began meanwhile is newer than the observation. */
function withHealth(node: NodeState, found: readonly HealthObservation[]): NodeState {
  const at = new Date().toISOString();
  return found.reduce(
    (seen, { service, well, why }) =>
      seen.facts.services[service]?.START === undefined
        ? seen
        : recordHealth(seen, service, { well, at, why }),
    node,
  );
}
