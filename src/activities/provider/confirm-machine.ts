import { activityInfo } from '@temporalio/activity';
import { setTimeout as wait } from 'node:timers/promises';
import { anySignal } from '../../model/signals.js';
import { isJsonObject, type JsonObject } from '../../model/json.js';
import { mergePayload } from '../../model/node/payload.js';
import type { MachineInput } from '../../plugins/contract.js';
import { isPluginError, PluginError } from '../../plugins/errors.js';
import { findLogin } from './address.js';
import { isReachedByPlugin, reachByPlugin } from './reached-by-plugin.js';
import type { ProviderCall } from './provider-call.js';
import { acceptFromProvider } from './references.js';
import { refuseFailure } from '../results.js';

interface ConfirmOptions {
  /** An image was just written: its system may refuse logins until its first boot is over. */
  readonly isFresh?: boolean;
}

/**
 * Ready means: the provider says so, there is an address, and SSH answers there under the expected host key.
 */
export async function confirmMachine(
  { parts, plugin, provider, request, attempt, machine, secrets, admission }: ProviderCall,
  budget: AbortSignal,
  { isFresh = false }: ConfirmOptions = {},
): Promise<JsonObject> {
  const isExisting =
    plugin.descriptor.capabilities.includes('claims') && !isReachedByPlugin(plugin) && !isFresh;
  const returned = await confirmRepeatedly(provider, machine, attempt, budget).catch((error: unknown) => {
    // Such as an address that cannot be resolved.
    if (isExisting && isPluginError(error) && error.kind === 'NotReady')
      giveUpExisting(error, { request, attempt }, {});
    throw error;
  });
  const taken = await acceptFromProvider(parts, request.provider.name, returned, {
    plugin: plugin.descriptor,
    action: 'CONFIRM',
    config: request.config,
    secrets,
  });
  // Waiting for SSH is not a provider call.
  await admission.lock?.release();
  refuseFailure(plugin.descriptor.name, 'Invalid', taken);
  if (isReachedByPlugin(plugin)) return confirmByPlugin(plugin, provider, machine, taken.result);
  const { address } = await findLogin(
    parts,
    { account: request.provider.name, config: mergePayload(request.config, taken.result) },
    attempt,
  );
  attempt.at(`SSH to ${address.host}:${address.port}`);
  try {
    const { hostKey, bootId } = await parts.nodes.probe(
      address,
      anySignal([attempt.signal, attempt.detach, budget]),
      // Tasks of the node follow.
      { keepsConnection: true },
    );
    if (address.hostKey === undefined) attempt.log.info(`pinned host key of ${address.host}`, { hostKey });
    // null takes out what an earlier CONFIRM left.
    return { ...taken.result, 'ssh-host-key': hostKey, 'boot-id': bootId ?? null };
  } catch (error) {
    if (!isPluginError(error) || error.kind === 'Invalid') throw error;
    // No boot of a machine that exists is to be waited for, and hosts lock accounts.
    if (isExisting) giveUpExisting(error, { request, attempt }, taken.result);
    // A fresh machine may refuse for a while, or not know its keys yet: the boot budget ends the waiting.
    throw new PluginError('NotReady', error.message, {
      cause: error,
      remedy: error.remedy,
      retryAfterMs: 1_000,
      result: taken.result,
    });
  }
}

/**
 * Pauses after a refused login, in ms; after the last of them a refusal counts. A host refuses while it
 * boots.
 */
const refusedPauses = [5_000, 20_000] as const;

/** What an attempt notes for later ones. */
interface Noted {
  /** Refused logins in a row. */
  readonly refusals: number;
  /**
   * When the first retry was due, by the server's clock: the wait for a worker before is not the machine's.
   */
  readonly since?: number;
}

/** @throws PluginError if the login was refused, or the machine has not answered for too long. */
function giveUpExisting(
  { kind, message, remedy }: PluginError,
  { request, attempt }: Pick<ProviderCall, 'request' | 'attempt'>,
  result: JsonObject,
): void {
  const { currentAttemptScheduledTimestampMs: at } = activityInfo();
  const marked = attempt.marked();
  const before: Noted = isJsonObject(marked) ? (marked as unknown as Noted) : { refusals: 0 };
  const since = before.since ?? (attempt.number > 1 ? at : undefined);
  const refusals = kind === 'Auth' ? before.refusals + 1 : 0;
  attempt.mark({ refusals, ...(since === undefined ? {} : { since }) });
  if (kind === 'Auth') {
    const retryAfterMs = refusedPauses[refusals - 1];
    if (retryAfterMs !== undefined)
      throw new PluginError('NotReady', message, { remedy, retryAfterMs, result });
    throw new PluginError('Auth', `${message}. It was refused ${refusals} times`, { remedy, result });
  }
  const { answerWithinMs = Infinity } = request;
  if (since === undefined || at - since < answerWithinMs) return;
  throw new PluginError('MachineFailed', `${message}. It has not answered for ${answerWithinMs / 1_000} s`, {
    remedy,
    result,
  });
}

/** Such a resource has no log-in: it is ready when it accepts requests. */
async function confirmByPlugin(
  plugin: ProviderCall['plugin'],
  provider: ProviderCall['provider'],
  machine: MachineInput,
  result: JsonObject,
): Promise<JsonObject> {
  const { is, why } = await reachByPlugin(plugin, provider, machine);
  if (is === 'yes') return result;
  throw new PluginError('NotReady', `it does not answer its provider: ${why ?? 'no reason was given'}`, {
    retryAfterMs: 1_000,
    result,
  });
}

/**
 * Longest delay before another call within one attempt, and the time for such calls, in ms.
 */
const soonMs = 300;
const confirmingMs = 1_500;

/**
 * The first attempt waits for a machine that is about to be ready, because the next attempt begins a second
 * later at the earliest. Later attempts probe once, so that a slow machine occupies no slot.
 */
async function confirmRepeatedly(
  provider: ProviderCall['provider'],
  machine: ProviderCall['machine'],
  attempt: ProviderCall['attempt'],
  budget: AbortSignal,
): ReturnType<ProviderCall['provider']['confirm']> {
  for (const until = performance.now() + confirmingMs; ;) {
    try {
      return await provider.confirm(machine);
    } catch (error) {
      const waitMs =
        isPluginError(error) && error.kind === 'NotReady' && attempt.number === 1
          ? (error.retryAfterMs ?? Infinity)
          : Infinity;
      if (waitMs > soonMs || performance.now() + waitMs > until) throw error;
      await wait(waitMs, undefined, { signal: anySignal([attempt.signal, attempt.detach, budget]) });
    }
  }
}
