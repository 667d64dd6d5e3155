import { isJsonObject, type JsonObject } from '../model/json.js';
import { mergePayload } from '../model/payload.js';
import { isPluginError, PluginError } from '../plugins/errors.js';
import { addWay, readAddress } from './address.js';
import type { ActivityParts } from './parts.js';
import type { ProviderCall } from './provider-call.js';
import { refuseFailure, takeResult } from './results.js';

/** Ready means: the provider says so, there is an address, and SSH answers there under the expected host key. */
export async function confirmMachine(parts: ActivityParts, { plugin, provider, request, attempt, machine }: ProviderCall, budget: AbortSignal): Promise<JsonObject> {
  const taken = takeResult(plugin.descriptor.name, await provider.confirm(machine), request.config);
  refuseFailure(plugin.descriptor.name, 'Invalid', taken);
  const config = mergePayload(request.config, taken.result);
  const { value, secrets } = await parts.resolveSecrets(config, `payload of ${request.nodeId}`);
  attempt.hide(secrets);
  const address = await addWay(parts, request.provider.name, readAddress(isJsonObject(value) ? value : {}, plugin.descriptor.name), attempt);
  attempt.hide([address.password, address.key].filter((secret) => secret !== undefined));
  attempt.at(`SSH to ${address.host}:${address.port}`);
  try {
    const { hostKey, bootId } = await parts.nodes.probe(address, AbortSignal.any([attempt.signal, attempt.detach, budget]));
    if (address.hostKey === undefined) attempt.log.info(`pinned host key of ${address.host}`, { hostKey });
    // null takes out what an earlier CONFIRM left.
    return { ...taken.result, 'ssh-host-key': hostKey, 'boot-id': bootId ?? null };
  } catch (error) {
    if (!isPluginError(error) || error.kind === 'Invalid') throw error;
    // A fresh machine may refuse for a while, or not know its keys yet: the boot budget ends the waiting.
    throw new PluginError('NotReady', error.message, { cause: error, retryAfterMs: 1_000, result: taken.result });
  }
}
