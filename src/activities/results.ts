import { isJsonObject, type JsonObject } from '../model/json.js';
import { maxPayloadBytes, mergePayload, reservedKeysIn } from '../model/payload.js';
import type { TaskResult } from '../model/task.js';
import { PluginError } from '../plugins/errors.js';
import { parseResult } from '../schema/result.js';

/** Takes over what a plugin returned: parsed strictly, without a word in Heddle's own keys, within the payload's size. */
export function takeResult(plugin: string, returned: unknown, config: JsonObject): TaskResult & { readonly result: JsonObject } {
  const parsed = parseResult(returned, { plugin });
  const result: JsonObject = parsed.result ?? {};
  const taken = reservedKeysIn(result);
  if (taken.length > 0) {
    throw new PluginError('Invalid', `plugin ${plugin} returned ${taken.join(', ')}, which only Heddle sets; return it under another key`);
  }
  const size = Buffer.byteLength(JSON.stringify(mergePayload(config, result)));
  if (size > maxPayloadBytes) {
    throw new PluginError('Invalid', `with what plugin ${plugin} returned, the node's payload has ${size} bytes; ${maxPayloadBytes} are allowed`);
  }
  return { ...parsed, result };
}

/** A status other than 0 means the same as a thrown error. */
export function refuseFailure(plugin: string, kind: 'ScriptFailed' | 'Invalid', taken: TaskResult): void {
  if (taken.status === undefined || taken.status === 0) return;
  const { status, stdout, stderr, result } = taken;
  throw new PluginError(kind, `plugin ${plugin} ended with status ${status}`, {
    exitCode: status, ...(stdout === undefined ? {} : { stdout }), ...(stderr === undefined ? {} : { stderr }),
    ...(isJsonObject(result) ? { result } : {}),
  });
}
