import type { JsonObject } from '../../model/json.js';
import {
  readPinnedResource,
  readResourceReference,
  type ResourceReference,
} from '../../model/artifact/reference.js';
import type { Descriptor } from '../../schema/descriptor.js';
import { errorAt, type Path, type Problem } from '../../schema/problem.js';

/**
 * Whether the resources in an action's fields are bound to a content, of the format that the plugin takes.
 */
export function checkResources(
  { fields: declared, resources = {} }: Descriptor,
  fields: JsonObject,
  path: Path,
): readonly Problem[] {
  return Object.entries(fields).flatMap(([key, value]) => {
    const kind = declared?.user[key]?.resource;
    if (declared !== undefined && kind === undefined) return [];
    const reference = readResourceReference(value);
    if (reference !== undefined)
      return [
        errorAt(
          [...path, key],
          wrongWith(reference),
          `Run 'heddle resource list ${reference.resource}' to see its versions; 'heddle resource put' and 'heddle resource set' change them.`,
        ),
      ];
    const pinned = readPinnedResource(value);
    const format = kind === undefined ? undefined : resources[kind]?.format;
    if (pinned === undefined || format === undefined || pinned.format === format) return [];
    const right = format === 'archive' ? 'Put a folder, or a tar archive.' : 'Put a single file.';
    return [
      errorAt(
        [...path, key],
        `names resource "${pinned.resource}", which is ${article(pinned.format)}; ${article(format)} is needed`,
        right,
      ),
    ];
  });
}

function wrongWith({ resource, version, digest }: ResourceReference): string {
  if (version === undefined && digest === undefined)
    return `names resource "${resource}", which does not exist or has no set version`;
  return `names ${version === undefined ? '' : `version ${version} `}${digest === undefined ? '' : `content ${digest} `}of resource "${resource}", which does not exist`;
}

function article(format: string): string {
  return format === 'archive' ? 'an archive' : 'a file';
}
