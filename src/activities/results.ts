import { isJsonObject, type JsonObject } from '../model/json.js';
import { maxPayloadBytes, mergePayload } from '../model/node/payload.js';
import type { TaskResult } from '../model/node/task.js';
import { PluginError } from '../plugins/errors.js';
import { acceptResult, type ResultOf } from '../schema/accept-result.js';

/**
 * Takes what a plugin returned: filtered by the table of results, and small enough for the node's payload
 * `config`.
 */
export function takeResult(
  returned: unknown,
  source: ResultOf,
  config: JsonObject,
): TaskResult & { readonly result: JsonObject } {
  const taken = acceptResult(returned, source);
  const size = Buffer.byteLength(JSON.stringify(mergePayload(config, taken.result)));
  if (size > maxPayloadBytes) {
    throw new PluginError(
      'Invalid',
      `with what plugin ${source.plugin.name} returned, the node's payload has ${size} bytes; ` +
        `${maxPayloadBytes} are allowed`,
    );
  }
  return taken;
}

/** A status other than 0 means the same as a thrown error. */
export function refuseFailure(plugin: string, kind: 'ScriptFailed' | 'Invalid', taken: TaskResult): void {
  if (taken.status === undefined || taken.status === 0) return;
  const { status, stdout, stderr, result } = taken;
  throw new PluginError(kind, `plugin ${plugin} ended with status ${status}`, {
    exitCode: status,
    stdout,
    stderr,
    ...(isJsonObject(result) ? { result } : {}),
  });
}
