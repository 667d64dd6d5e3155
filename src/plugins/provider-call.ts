import { createHash } from 'node:crypto';
import type { JsonObject } from '../model/json.js';
import { machineKey, tagNames } from '../model/names.js';
import type { AccountRef, ProbedNode } from '../model/node/probe.js';
import { anySignal } from '../model/signals.js';
import type { Calls, MachineInput, Task } from './contract.js';
import { isPluginError, PluginError, ProgramFault } from './errors.js';
import type { ProviderContext, ProviderWithAbilities, RegisteredProvider } from './registered.js';

/** A node's machine, as its provider is asked about it. */
export function machineInput(
  installation: string,
  clusterId: string,
  node: ProbedNode,
  fields: JsonObject,
): MachineInput {
  const key = keyOf(node);
  const id = node.config['providerid'];
  const tags = {
    [tagNames.installation]: installation,
    [tagNames.key]: key,
    [tagNames.cluster]: clusterId,
    [tagNames.node]: node.nodeId,
    ...(node.placement === undefined ? {} : { [tagNames.placement]: node.placement }),
  };
  return { key, tags, fields, ...(typeof id === 'string' ? { providerid: id } : {}) };
}

export function keyOf({
  keyUid,
  nodeId,
  incarnation,
}: Pick<ProbedNode, 'keyUid' | 'nodeId' | 'incarnation'>): string {
  return machineKey(keyUid, nodeId, incarnation);
}

/** The key as a client token. */
export function clientToken(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

/** The task of a call that concerns an account, and no node of a cluster in particular. */
export function accountTask(
  provider: AccountRef,
  { title, clusterId = '-', attempt = 1 }: { title: string; clusterId?: string; attempt?: number },
): Task {
  return {
    // CONFIRM is the read-only action.
    taskId: `-/-/CONFIRM/${title}`,
    taskName: 'CONFIRM',
    clusterId,
    clusterUid: '-',
    nodeId: '-',
    incarnation: 0,
    attempt,
    config: {},
    nodes: {},
    cluster: {},
    provider,
  };
}

export interface CallLimits {
  /** In ms. Default: the deadline of the descriptor. */
  readonly deadlineMs?: number;
  /** The account's limit of calls; what waits for it ends with the call. */
  readonly calls?: (signal: AbortSignal) => Calls;
  /**
   * Whether a program that hangs until the deadline is a fault of the plugin. Default: the provider is slow.
   */
  readonly hangIsFault?: boolean;
}

/**
 * Makes a call of a provider. It ends at the deadline, which ends the provider's connections too.
 * @throws PluginError Retryable if the provider did not answer in time.
 */
export async function callInTime<Answer>(
  { create, descriptor }: RegisteredProvider,
  context: ProviderContext,
  call: (provider: ProviderWithAbilities) => Promise<Answer>,
  { deadlineMs = descriptor.callDeadlineMs, calls, hangIsFault = false }: CallLimits = {},
): Promise<Answer> {
  const deadline = AbortSignal.timeout(deadlineMs);
  const signal = anySignal([context.signal, deadline]);
  try {
    return await call(create({ ...context, signal, calls: calls?.(signal) }));
  } catch (error) {
    if (!deadline.aborted || isPluginError(error) || (hangIsFault && error instanceof ProgramFault))
      throw error;
    throw new PluginError(
      'Retryable',
      `provider ${context.task.provider.name} did not answer within ${deadlineMs} ms`,
      { cause: error },
    );
  }
}
