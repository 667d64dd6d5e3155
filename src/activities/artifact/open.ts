import type { JsonObject } from '../../model/json.js';
import { readPinnedResource } from '../../model/artifact/reference.js';
import type { TaskResource } from '../../model/node/task.js';
import type { Descriptor } from '../../schema/descriptor.js';
import type { Attempt } from '../attempt.js';
import type { ActivityParts } from '../parts.js';

export interface FieldsWithResources {
  /** With the path in the place of each resource. */
  readonly fields: JsonObject;
  readonly resources?: Readonly<Record<string, TaskResource>>;
}

/**
 * Downloads the resources that an action's fields name to this worker.
 * @throws PluginError if one is not available.
 */
export async function openResources(
  { resources }: Pick<ActivityParts, 'resources'>,
  descriptor: Descriptor,
  fields: JsonObject,
  attempt: Attempt,
): Promise<FieldsWithResources> {
  const opened: Record<string, TaskResource> = {};
  for (const [key, value] of Object.entries(fields)) {
    const pinned = takesResource(descriptor, key) ? readPinnedResource(value) : undefined;
    if (pinned === undefined) continue;
    attempt.at(`downloads resource ${pinned.resource}`);
    const { resource, digest, format } = pinned;
    opened[key] = { resource, digest, format, ...(await resources(pinned, permissionsOf(descriptor, key))) };
    attempt.signal.throwIfAborted();
  }
  const paths = Object.fromEntries(Object.entries(opened).map(([key, { path }]) => [key, path]));
  return {
    fields: { ...fields, ...paths },
    ...(Object.keys(opened).length === 0 ? {} : { resources: opened }),
  };
}

/** A plugin that declares no fields may get resources in any. */
function takesResource({ fields }: Descriptor, key: string): boolean {
  return fields === undefined || fields.user[key]?.resource !== undefined;
}

function permissionsOf({ fields, resources = {} }: Descriptor, key: string): number | undefined {
  const kind = fields?.user[key]?.resource;
  const written = kind === undefined ? undefined : resources[kind]?.permissions;
  return written === undefined ? undefined : Number.parseInt(written, 8);
}
