import type { JsonObject } from '../../model/json.js';
import { runsOf } from '../../model/names.js';
import { anySignal } from '../../model/signals.js';
import type { TaskRequest } from '../../model/node/task-request.js';
import type { Task } from '../../model/node/task.js';
import type { MachineInput } from '../../plugins/contract.js';
import { isPluginError, PluginError, ProgramFault } from '../../plugins/errors.js';
import type { ProviderWithAbilities, RegisteredProvider } from '../../plugins/registry.js';
import type { Attempt } from '../attempt.js';
import type { ActivityParts } from '../parts.js';
import { openAccount, type AccountName, type OpenAccount } from './account.js';
import { admit, type Admission } from './admission.js';
import { openCreateRecord } from './create-record.js';
import { machineInput } from './machine-input.js';
import { resolveOwnSecret } from './own-secret.js';
import { refuseForeign } from './references.js';

/** A machine of a provider account, before the provider is called about it. */
export interface ProviderTarget extends OpenAccount {
  readonly machine: MachineInput;
}

/** Opens the account of a task and names its machine. @throws PluginError as openAccount does. */
export async function openTarget(
  parts: ActivityParts,
  request: TaskRequest,
  account: AccountName,
  attempt: Attempt,
): Promise<ProviderTarget> {
  const { nodeId, incarnation, clusterId, clusterUid, keyUid = clusterUid, placement, config } = request;
  const open = await openAccount(parts, account, attempt);
  const node = { nodeId, incarnation, keyUid, config, placement };
  return { ...open, machine: machineInput(parts.installation, clusterId, node, open.fields) };
}

/** One admitted call of a provider, with all that it concerns. */
export interface ProviderCall {
  readonly parts: ActivityParts;
  readonly plugin: RegisteredProvider;
  readonly provider: ProviderWithAbilities;
  readonly request: TaskRequest;
  readonly attempt: Attempt;
  readonly machine: MachineInput;
  /** The account's, which no result may contain. */
  readonly secrets: readonly string[];
  readonly admission: Admission;
}

export interface CallOptions {
  /** Limit of the call itself, in ms, after it was admitted. It ends the provider's connections too. */
  readonly deadlineMs: number;
  /** End the wait for admission and the call as well. */
  readonly signals?: readonly AbortSignal[];
  /** The call continues if the task is cancelled. */
  readonly survivesCancel?: boolean;
}

/**
 * Makes one call of a provider: waits for admission (lock, process, rate limit), gives the plugin its
 * signals, and releases everything at the end.
 * @throws PluginError Retryable, ProgramFault of a program, if the plugin did not end within the deadline.
 */
export async function callProvider<Value>(
  parts: ActivityParts,
  {
    task,
    request,
    attempt,
  }: { readonly task: Task; readonly request: TaskRequest; readonly attempt: Attempt },
  { plugin, fields, secrets, machine }: ProviderTarget,
  { deadlineMs, signals = [], survivesCancel = false }: CallOptions,
  work: (call: ProviderCall) => Promise<Value>,
): Promise<Value> {
  const account = request.provider.name;
  const admission = await admit(parts, plugin, account, attempt, signals);
  const { lock, reservation } = admission;
  const deadline = AbortSignal.timeout(deadlineMs);
  const signal = anySignal([
    ...(survivesCancel ? [] : [attempt.signal]),
    attempt.detach,
    deadline,
    ...signals,
    ...(lock === undefined ? [] : [lock.lost]),
  ]);
  const known = [...secrets];
  const provider = plugin.create({
    task: { ...task, provider: { ...task.provider, type: plugin.descriptor.name, fields } },
    log: attempt.log,
    signal,
    detach: attempt.detach,
    fields,
    claims: parts.claims(account),
    runs: { folder: parts.runFolder, claims: parts.claims(runsOf(account)) },
    calls: admission.calls(signal),
    record: isRepeated(task, plugin) ? openCreateRecord(parts, attempt, request, machine.key) : undefined,
    pools: parts.pools,
    resolveReferences: async (value, place) => {
      await refuseForeign(parts, account, value, place);
      const resolved = await parts.resolveSecrets(value, { writtenBy: 'administrator', place });
      attempt.hide(resolved.secrets);
      known.push(...resolved.secrets);
      return resolved.value as JsonObject;
    },
    resolveSecret: (reference) => resolveOwnSecret(parts, request, attempt, reference),
    reservation,
  });
  attempt.at(`${task.taskName} by ${plugin.descriptor.name}`);
  try {
    return await work({ parts, plugin, provider, request, attempt, machine, secrets: known, admission });
  } catch (error) {
    // A program that hangs repeatedly is a fault of the plugin.
    if (!deadline.aborted || isPluginError(error) || error instanceof ProgramFault) throw error;
    throw new PluginError('Retryable', `the provider did not answer within ${deadlineMs} ms`, {
      cause: error,
    });
  } finally {
    await admission.release();
  }
}

/** CREATE of idempotency `none` is never repeated by itself: it has nothing to continue. */
function isRepeated({ taskName }: Task, { descriptor }: RegisteredProvider): boolean {
  return taskName === 'CREATE' && descriptor.idempotency !== 'none';
}
