import type { JsonObject } from '../../model/json.js';
import { runsOf } from '../../model/names.js';
import { nodeOfTask } from '../../model/node/assigned-machine.js';
import type { EngineKind } from '../../model/node/failure.js';
import { anySignal } from '../../model/signals.js';
import type { TaskRequest } from '../../model/node/task-request.js';
import type { Task } from '../../model/node/task.js';
import type { MachineInput } from '../../plugins/contract.js';
import { isPluginError } from '../../plugins/errors.js';
import { callInTime, machineInput, type CallLimits } from '../../plugins/provider-call.js';
import type { ProviderContext, ProviderWithAbilities, RegisteredProvider } from '../../plugins/registry.js';
import type { Attempt } from '../attempt.js';
import type { ActivityParts } from '../parts.js';
import { openAccount, type AccountName, type OpenAccount } from './account.js';
import { admit, type Admission, type Caller } from './admission.js';
import { openCreateRecord } from './create-record.js';
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
  const open = await openAccount(parts, account, attempt);
  const machine = machineInput(parts.installation, request.clusterId, nodeOfTask(request), open.fields);
  return { ...open, machine };
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

/** An admitted call of an account: its limits begin once it was admitted. */
export interface AccountCall extends CallLimits {
  readonly task: Task;
  readonly attempt: Caller;
  readonly admission: Admission;
  /** What the plugin gets besides what every call has. */
  readonly context?: Partial<ProviderContext>;
  /** End the call, as the signals of the attempt do. */
  readonly signals?: readonly AbortSignal[];
  /** The call continues if the task is cancelled. */
  readonly survivesCancel?: boolean;
}

/**
 * Makes one call of a provider, of a task as well as of a question about its account: gives the
 * plugin its signals, and releases the admission at the end.
 * @throws PluginError Retryable if the plugin did not end within the deadline.
 */
export async function callAccount<Value>(
  parts: ActivityParts,
  { name, plugin, fields }: OpenAccount,
  { task, attempt, admission, context, signals = [], survivesCancel = false, ...limits }: AccountCall,
  work: (provider: ProviderWithAbilities) => Promise<Value>,
): Promise<Value> {
  const { lock, reservation } = admission;
  const signal = anySignal([
    ...(survivesCancel ? [] : [attempt.signal]),
    attempt.detach,
    ...signals,
    ...(lock === undefined ? [] : [lock.lost]),
  ]);
  const whole: ProviderContext = {
    task: { ...task, provider: { ...task.provider, type: plugin.descriptor.name, fields } },
    log: attempt.log,
    signal,
    fields,
    claims: parts.claims(name),
    pools: parts.pools,
    reservation,
    ...context,
  };
  const begun = performance.now();
  const count = (result: string): void =>
    parts.countCall({ account: name, result, ms: performance.now() - begun });
  try {
    const value = await callInTime(plugin, whole, work, {
      ...limits,
      calls: (within) => admission.calls(within),
    });
    count('done');
    return value;
  } catch (error) {
    const kind: EngineKind = signal.aborted ? 'Cancelled' : 'Internal';
    count(isPluginError(error) ? error.kind : kind);
    throw error;
  } finally {
    await admission.release();
  }
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
 * Makes one call of a task's provider, once it is admitted (lock, process, rate limit).
 * @throws PluginError Retryable, ProgramFault of a program, if the plugin did not end within the deadline.
 */
export async function callProvider<Value>(
  parts: ActivityParts,
  {
    task,
    request,
    attempt,
  }: { readonly task: Task; readonly request: TaskRequest; readonly attempt: Attempt },
  { machine, ...account }: ProviderTarget,
  options: CallOptions,
  work: (call: ProviderCall) => Promise<Value>,
): Promise<Value> {
  const { name, plugin } = account;
  const admission = await admit(parts, plugin, name, attempt, options.signals);
  const secrets = [...account.secrets];
  const context: Partial<ProviderContext> = {
    detach: attempt.detach,
    runs: { folder: parts.runFolder, claims: parts.claims(runsOf(name)) },
    record: isRepeated(task, plugin) ? openCreateRecord(parts, attempt, request, machine.key) : undefined,
    resolveReferences: async (value, place) => {
      await refuseForeign(parts, name, value, place);
      const resolved = await parts.resolveSecrets(value, { writtenBy: 'administrator', place });
      attempt.hide(resolved.secrets);
      secrets.push(...resolved.secrets);
      return resolved.value as JsonObject;
    },
    resolveSecret: (reference) => resolveOwnSecret(parts, request, attempt, reference),
  };
  // A program that hangs repeatedly is a fault of the plugin.
  const call = { ...options, task, attempt, admission, context, hangIsFault: true };
  return callAccount(parts, account, call, async (provider) => {
    attempt.at(`${task.taskName} by ${plugin.descriptor.name}`);
    return work({ parts, plugin, provider, request, attempt, machine, secrets, admission });
  });
}

/** CREATE of idempotency `none` is never repeated by itself: it has nothing to continue. */
function isRepeated({ taskName }: Task, { descriptor }: RegisteredProvider): boolean {
  return taskName === 'CREATE' && descriptor.idempotency !== 'none';
}
