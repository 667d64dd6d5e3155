import { activityInfo } from '@temporalio/activity';
import { setTimeout as wait } from 'node:timers/promises';
import { createHash } from 'node:crypto';
import type { JsonObject } from '../model/json.js';
import { isJsonObject } from '../model/json.js';
import type { TaskRequest } from '../model/messages.js';
import { machineKey, tagNames } from '../model/names.js';
import { mergePayload } from '../model/payload.js';
import type { Task } from '../model/task.js';
import type { CanFind, MachineInput, Provider } from '../plugins/contract.js';
import { isPluginError, PluginError } from '../plugins/errors.js';
import type { RegisteredProvider } from '../plugins/registry.js';
import { checkFields, passedReferences } from '../schema/fields.js';
import { formatProblem, hasErrors } from '../schema/problem.js';
import { readAddress } from './address.js';
import type { Attempt } from './attempt.js';
import type { ActivityParts, ProviderAccount } from './parts.js';
import { refuseFailure, takeResult } from './results.js';

/** Carries out CREATE, CONFIRM or DELETE by the plugin of the node's provider. */
export async function runProviderTask(parts: ActivityParts, task: Task, request: TaskRequest, attempt: Attempt): Promise<JsonObject> {
  const account = accountOf(parts, request);
  const plugin = parts.registry.provider(account.type);
  const fields = await readFields(parts, plugin, request, attempt);
  const machine = machineOf(parts, request, fields);
  await untilVisible(plugin, task, machine, attempt);
  // The call's own deadline ends its connection too, so that no attempt given up for lost creates anything later.
  const deadline = AbortSignal.timeout(plugin.descriptor.callDeadlineMs);
  const budget = budgetSignal();
  // A CREATE that was sent goes on when the task is cancelled: it ends with the machine's id, which makes deleting it easy.
  const cancelled = task.taskName === 'CREATE' ? [] : [attempt.signal];
  const signal = AbortSignal.any([...cancelled, attempt.detach, deadline, budget]);
  const provider = plugin.create({
    task: { ...task, provider: { ...task.provider, type: account.type, fields } }, log: attempt.log, signal, fields,
    claims: parts.claims(request.provider.name),
  });
  attempt.at(`${task.taskName} by ${plugin.descriptor.name}`);
  try {
    if (task.taskName === 'CREATE') return await create({ plugin, provider, request, attempt, machine });
    if (task.taskName === 'CONFIRM') return await confirm(parts, { plugin, provider, request, attempt, machine }, budget);
    const taken = takeResult(plugin.descriptor.name, await provider.delete(machine), request.config);
    refuseFailure(plugin.descriptor.name, 'Invalid', taken);
    return taken.result;
  } catch (error) {
    if (budget.aborted && !(error instanceof PluginError)) throw new PluginError('NotReady', `${attempt.step()} when its time was over`, { cause: error });
    if (deadline.aborted && !isPluginError(error)) {
      throw new PluginError('Retryable', `the provider did not answer within ${plugin.descriptor.callDeadlineMs} ms`, { cause: error });
    }
    throw error;
  }
}

/** How long before the end of its time an attempt ends by itself, in ms: cut by the server, it could not say what it waited for. */
const lastWordsMs = 300;

function budgetSignal(): AbortSignal {
  const { scheduledTimestampMs, currentAttemptScheduledTimestampMs, scheduleToCloseTimeoutMs } = activityInfo();
  if (scheduleToCloseTimeoutMs === 0) return new AbortController().signal;
  // Both by the server's clock, which may differ from ours.
  const spentMs = currentAttemptScheduledTimestampMs - scheduledTimestampMs;
  return AbortSignal.timeout(Math.max(0, scheduleToCloseTimeoutMs - spentMs - lastWordsMs));
}

interface Call {
  readonly plugin: RegisteredProvider;
  readonly provider: Provider;
  readonly request: TaskRequest;
  readonly attempt: Attempt;
  readonly machine: MachineInput;
}

function accountOf(parts: ActivityParts, request: TaskRequest): ProviderAccount {
  const account = parts.providers[request.provider.name];
  if (account !== undefined) return account;
  const known = Object.keys(parts.providers).join(', ');
  throw new PluginError('Invalid', `this worker's configuration has no provider "${request.provider.name}" (it has: ${known || 'none'}); add it to heddle.yaml`);
}

/** The administrator's fields with the user's over them, checked, with defaults and with secrets resolved. */
async function readFields(parts: ActivityParts, { descriptor }: RegisteredProvider, request: TaskRequest, attempt: Attempt): Promise<JsonObject> {
  const { name } = request.provider;
  const admin = checkFields(descriptor, 'admin', accountOf(parts, request).fields, ['providers', name, 'fields']);
  const user = checkFields(descriptor, 'user', request.provider.fields, ['fields']);
  const problems = [...admin.problems, ...user.problems];
  if (hasErrors(problems)) throw new PluginError('Invalid', `fields of provider ${name}: ${problems.map(formatProblem).join('; ')}`);
  const written: JsonObject = { ...admin.values, ...user.values };
  const passed = passedReferences(descriptor);
  const split = (kept: boolean): JsonObject => Object.fromEntries(Object.entries(written).filter(([key]) => passed.includes(key) === kept));
  const { value, secrets } = await parts.resolveSecrets(split(false), `provider ${name}`);
  attempt.hide(secrets);
  return { ...(isJsonObject(value) ? value : {}), ...split(true) };
}

function machineOf(parts: ActivityParts, request: TaskRequest, fields: JsonObject): MachineInput {
  const { clusterUid, nodeId, incarnation, clusterId, config } = request;
  const key = machineKey(clusterUid, nodeId, incarnation);
  const id = config['providerid'];
  const tags = {
    [tagNames.installation]: parts.installation, [tagNames.key]: key, [tagNames.cluster]: clusterId, [tagNames.node]: nodeId,
  };
  return { key, tags, fields, ...(typeof id === 'string' ? { providerid: id } : {}) };
}

/**
 * One machine for one key, whatever was lost on the way. With a client token the call is simply made again; otherwise a
 * later attempt waits until an earlier call can have no more effect and is visible, looks, and adopts what it finds.
 */
async function create(call: Call): Promise<JsonObject> {
  const { plugin, provider, request, attempt, machine } = call;
  const { idempotency } = plugin.descriptor;
  if (attempt.number > 1 && idempotency === 'none') {
    throw new PluginError('UnknownOutcome', `an earlier attempt of this CREATE was lost, and provider type ${plugin.descriptor.name} cannot tell whether it made a machine. `
      + `Look for a machine named ${textOf(request.config, 'hostname')}, delete it there if it exists, then retry`);
  }
  if (attempt.number > 1 && idempotency !== 'token') {
    const found = await findEarlier(call);
    if (found !== undefined) return found;
  }
  const { config } = request;
  const returned = await provider.create({
    ...machine, flavor: textOf(config, 'flavor'), image: textOf(config, 'image'), hostname: textOf(config, 'hostname'),
    token: createHash('sha256').update(machine.key).digest('hex'),
  });
  const taken = takeResult(plugin.descriptor.name, returned, config);
  refuseFailure(plugin.descriptor.name, 'Invalid', taken);
  const id = taken.result['providerid'];
  if (typeof id !== 'string' || id === '') {
    throw new PluginError('Invalid', `plugin ${plugin.descriptor.name} returned no providerid from CREATE; it must be a string that names the machine`);
  }
  return taken.result;
}

function textOf(config: JsonObject, key: string): string {
  const value = config[key];
  return typeof value === 'string' ? value : '';
}

/**
 * An earlier CREATE whose outcome nobody knows may have its effect up to its deadline, and be listed only later: until
 * then looking for its machine says nothing.
 */
async function untilVisible({ descriptor }: RegisteredProvider, task: Task, machine: MachineInput, attempt: Attempt): Promise<void> {
  const { currentAttemptScheduledTimestampMs, scheduledTimestampMs } = activityInfo();
  const again = task.taskName === 'CREATE' && attempt.number > 1 && (descriptor.idempotency === 'name' || descriptor.idempotency === 'tag');
  const unknown = task.taskName === 'DELETE' && machine.providerid === undefined;
  if (!again && !unknown) return;
  const lastCallAt = again ? currentAttemptScheduledTimestampMs : scheduledTimestampMs;
  const visibleAt = lastCallAt + descriptor.callDeadlineMs + descriptor.consistencyWindowMs;
  attempt.at(`waits until an earlier call of ${descriptor.name} is over and visible`);
  await wait(Math.max(0, visibleAt - Date.now()), undefined, { signal: AbortSignal.any([attempt.signal, attempt.detach]) });
}

async function findEarlier({ provider, attempt, machine }: Call): Promise<JsonObject | undefined> {
  if (!canFind(provider)) return undefined;
  const machines = (await provider.find(machine.key)).filter((found) => found.state !== 'gone');
  const [first, second] = machines;
  if (first === undefined) return undefined;
  if (second !== undefined) {
    const ids = machines.map((found) => found.providerid).join(', ');
    throw new PluginError('UnknownOutcome', `the provider has ${machines.length} machines for one key (${ids}); delete all but one there, then retry`);
  }
  attempt.log.warn(`adopts machine ${first.providerid}, which an earlier attempt made`);
  return { providerid: first.providerid };
}

function canFind(provider: Provider): provider is Provider & CanFind {
  return 'find' in provider && typeof provider.find === 'function';
}

/** Ready means: the provider says so, there is an address, and SSH answers there under the expected host key. */
async function confirm(parts: ActivityParts, { plugin, provider, request, attempt, machine }: Call, budget: AbortSignal): Promise<JsonObject> {
  const taken = takeResult(plugin.descriptor.name, await provider.confirm(machine), request.config);
  refuseFailure(plugin.descriptor.name, 'Invalid', taken);
  const config = mergePayload(request.config, taken.result);
  const { value, secrets } = await parts.resolveSecrets(config, `payload of ${request.nodeId}`);
  attempt.hide(secrets);
  const address = readAddress(isJsonObject(value) ? value : {}, plugin.descriptor.name);
  attempt.hide([address.password, address.key].filter((secret) => secret !== undefined));
  attempt.at(`SSH to ${address.host}:${address.port}`);
  try {
    const { hostKey } = await parts.nodes.probe(address, AbortSignal.any([attempt.signal, attempt.detach, budget]));
    if (address.hostKey === undefined) attempt.log.info(`pinned host key of ${address.host}`, { hostKey });
    return mergePayload(taken.result, { 'ssh-host-key': hostKey });
  } catch (error) {
    if (!isPluginError(error) || error.kind === 'Invalid') throw error;
    // A fresh machine may refuse for a while, or not know its keys yet: the boot budget ends the waiting.
    throw new PluginError('NotReady', error.message, { cause: error, retryAfterMs: 1_000, result: taken.result });
  }
}
