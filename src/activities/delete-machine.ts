import type { JsonObject } from '../model/json.js';
import type { TaskResult } from '../model/task.js';
import { isPluginError, PluginError } from '../plugins/errors.js';
import type { ProviderCall } from './provider-call.js';
import { refuseFailure, takeResult } from './results.js';

/**
 * Done when absence was seen; where what the provider shows may lag behind, when it was seen twice with the window in
 * between. The second look is another attempt, so that the waiting takes no place.
 */
export async function deleteMachine(call: ProviderCall): Promise<JsonObject> {
  const { plugin: { descriptor: { name, consistencyWindowMs } }, machine, absences } = call;
  const { result } = await askToDelete(call);
  const missedMs = consistencyWindowMs === 0 ? 0 : absences.miss(machine.key);
  if (missedMs < consistencyWindowMs) {
    throw new PluginError('NotReady', `the machine is not seen any more; it is looked for once more, for what provider type ${name} shows may lag ${consistencyWindowMs} ms behind`, {
      retryAfterMs: consistencyWindowMs - missedMs,
    });
  }
  absences.forget(machine.key);
  return result;
}

async function askToDelete({ plugin, provider, request, machine, absences }: ProviderCall): Promise<TaskResult & { readonly result: JsonObject }> {
  const { name } = plugin.descriptor;
  try {
    const taken = takeResult(name, await provider.delete(machine), request.config);
    refuseFailure(name, 'Invalid', taken);
    return taken;
  } catch (error) {
    // It is still there: what was missed before does not count.
    if (isPluginError(error) && error.kind === 'NotReady') absences.forget(machine.key);
    throw error;
  }
}
