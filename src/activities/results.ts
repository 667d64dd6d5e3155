import { isJsonObject } from '../model/json.js';
import type { TaskResult } from '../model/node/task.js';
import { PluginError } from '../plugins/errors.js';

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
