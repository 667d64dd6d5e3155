import { ApplicationFailure, CancelledFailure } from '@temporalio/workflow';
import { assignedMachine } from '../../model/machine/assigned.js';
import type { EngineKind, FailureRecord } from '../../model/node/failure.js';
import type { TaskRequest } from '../../model/node/task-request.js';
import type { NodeState } from '../../model/node/state.js';
import type { Step } from '../../model/plan/plan.js';
import type { PluginPins } from '../../model/node/placement.js';
import type { ClusterSpec } from '../../model/cluster/spec.js';
import { imageWorkflowId } from '../../model/names.js';
import type { MachineMemory } from '../machine/memory.js';
import { runNode } from '../run-node.js';
import type { CarriedNode } from '../task-request.js';

import type { ImageMemory } from './memory.js';
import { change } from '../entity.js';

export interface ChainOptions {
  readonly group: string;
  readonly spec?: ClusterSpec;
  readonly plugins?: PluginPins;
  readonly command?: TaskRequest['command'];
  readonly onStep: (step: string) => void;
  /** Names the runs of its scripts; on a machine that other builds used or will use. */
  readonly operation?: string;
}

/**
 * Carries out services, or a command, on the machine of a build, as on a node of a cluster.
 * @throws ApplicationFailure with what failed.
 */
export async function runChain(
  memory: ImageMemory,
  machine: MachineMemory,
  chain: readonly Step[],
  options: ChainOptions,
): Promise<void> {
  let node = nodeOf(machine, options);
  let failure: FailureRecord | undefined;
  const carried: CarriedNode = {
    operation: options.operation ?? `build-${machine.state.name}`,
    launches: 1,
    state: () => node,
    change: (apply) => {
      node = apply(node);
      if (node.payload !== machine.state.payload) machine.state = { ...machine.state, payload: node.payload };
      const { current } = node;
      if (current?.state === 'running')
        options.onStep(`${current.action}${current.service === undefined ? '' : ` ${current.service}`}`);
    },
    service: (name) => options.spec?.services[name],
    plugins: options.plugins,
    taskBase: () => ({
      clusterId: imageWorkflowId(memory.state.name),
      clusterUid: machine.state.uid,
      cluster: options.spec?.config ?? {},
      peersOf: imageWorkflowId(memory.state.name),
      peersVersion: 0,
      command: options.command,
    }),
  };
  const end = await runNode(carried, chain, {
    beginStep: () => Promise.resolve(memory.cancelled !== true),
    stepFailed: (_step, failed) => {
      failure = failed;
    },
  });
  change(memory, {});
  // What was cut short is never taken for done.
  if (end === 'stopped') throw new CancelledFailure('it was interrupted');
  if (end === 'failed')
    throw ApplicationFailure.nonRetryable(
      failure?.message ?? 'the actions of the services failed',
      failure?.kind ?? ('Internal' satisfies EngineKind),
    );
}

function nodeOf(machine: MachineMemory, { group, spec }: ChainOptions): NodeState {
  const { nodeId, incarnation, payload, placement } = assignedMachine(machine.state);
  const { hostname } = payload;
  return {
    nodeId,
    group,
    nodenum: 1,
    hostname: typeof hostname === 'string' ? hostname : nodeId,
    incarnation,
    payload,
    facts: { CREATE: true, CONFIRM: true, services: {} },
    services: spec?.nodes[group]?.services ?? [],
    changedAt: 0,
    runs: {},
    placement,
  };
}
