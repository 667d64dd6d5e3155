import type { JsonObject } from '../../model/json.js';
import type { TaskResult } from '../../model/node/task.js';
import type { MachineInput } from '../../plugins/contract.js';
import { isPluginError, PluginError } from '../../plugins/errors.js';
import type { ProviderWithAbilities } from '../../plugins/registry.js';
import type { ProviderCall } from './provider-call.js';
import { acceptFromProvider } from './references.js';
import { refuseFailure } from '../results.js';

/**
 * Done when absence was seen; if the provider's lists may lag, when it was seen twice, with the
 * consistency window in between. The second check is another attempt, so that the wait occupies no slot.
 */
export async function deleteMachine(call: ProviderCall): Promise<JsonObject> {
  const {
    plugin: {
      descriptor: { name, consistencyWindowMs },
    },
    machine,
    parts: { absences },
  } = call;
  const { result } = await askToDelete(call);
  const missedMs = consistencyWindowMs === 0 ? 0 : absences.miss(machine.key);
  if (missedMs < consistencyWindowMs) {
    throw new PluginError(
      'NotReady',
      `the machine is no longer listed; this is checked again, because lists of provider type ${name} may lag by ${consistencyWindowMs} ms`,
      { retryAfterMs: consistencyWindowMs - missedMs },
    );
  }
  absences.forget(machine.key);
  await notifyDeleted(call);
  return result;
}

/** The machine is gone already, so a failure is only logged. */
async function notifyDeleted({ plugin, provider, machine, attempt }: ProviderCall): Promise<void> {
  if (!plugin.abilities.includes('nodeDeleted')) return;
  try {
    await provider.nodeDeleted?.(machine);
  } catch (error) {
    attempt.log.warn(
      `the machine is deleted; nodeDeleted of ${plugin.descriptor.name} failed: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

async function askToDelete({
  plugin: { descriptor },
  provider,
  request,
  machine,
  secrets,
  parts,
}: ProviderCall): Promise<TaskResult & { readonly result: JsonObject }> {
  try {
    const taken = await acceptFromProvider(parts, request.provider.name, await provider.delete(machine), {
      plugin: descriptor,
      action: 'DELETE',
      config: request.config,
      secrets,
    });
    refuseFailure(descriptor.name, 'Invalid', taken);
    await refuseOthers(provider, machine);
    return taken;
  } catch (error) {
    // The machine is still there: earlier misses do not count.
    if (isPluginError(error) && error.kind === 'NotReady') parts.absences.forget(machine.key);
    throw error;
  }
}

/**
 * The key finds what an id does not: a machine whose id has changed, or a second one that should never have
 * been made. Such a machine is deleted too, and looked for again.
 */
async function refuseOthers(provider: ProviderWithAbilities, machine: MachineInput): Promise<void> {
  const others = ((await provider.find?.(machine.key)) ?? []).filter(({ state }) => state !== 'gone');
  if (others.length === 0) return;
  for (const { providerid } of others) {
    if (providerid !== machine.providerid) await provider.delete({ ...machine, providerid });
  }
  throw new PluginError(
    'NotReady',
    `the provider still lists ${others.map(({ providerid }) => providerid).join(', ')} under the key ${machine.key}`,
    { retryAfterMs: 300 },
  );
}
