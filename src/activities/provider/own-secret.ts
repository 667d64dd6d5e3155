import { isJsonObject, type Json } from '../../model/json.js';
import type { TaskRequest } from '../../model/node/task-request.js';
import { PluginError } from '../../plugins/errors.js';
import type { Attempt } from '../attempt.js';
import type { ActivityParts } from '../parts.js';

/**
 * Resolves a secret reference for a plugin that runs as a program. Allows only references in its own task,
 * otherwise any plugin could read all secrets of the worker. The payload does not count: it contains data of
 * nodes and plugins.
 */
export async function resolveOwnSecret(
  parts: Pick<ActivityParts, 'resolveSecrets'>,
  request: TaskRequest,
  attempt: Pick<Attempt, 'hide'>,
  reference: string,
): Promise<string> {
  const { cluster, provider, service } = request;
  if (
    ![cluster, provider.fields, service?.action.fields ?? null].some((place: Json) => holds(place, reference))
  ) {
    throw new PluginError(
      'Auth',
      'the task does not contain this reference; a plugin may request only the secrets of its task',
    );
  }
  const { value, secrets } = await parts.resolveSecrets(
    { secret: reference },
    { writtenBy: 'user', place: `a reference of ${request.nodeId}` },
  );
  attempt.hide(secrets);
  if (typeof value !== 'string') throw new PluginError('Auth', 'the value of the reference is not text');
  return value;
}

function holds(value: Json, reference: string): boolean {
  if (Array.isArray(value)) return value.some((item: Json) => holds(item, reference));
  if (!isJsonObject(value)) return false;
  if (value['secret'] === reference && Object.keys(value).length === 1) return true;
  return Object.values(value).some((item) => holds(item, reference));
}
