import { isJsonObject, type Json, type JsonObject } from '../model/json.js';
import type { Descriptor } from './descriptor.js';
import { checkFiles, type NamedFile } from './named-files.js';
import type { Path, Problem } from './problem.js';

/**
 * Reports files that administrators' fields name and that other users own or can write. `path`
 * is the path of the values. Called before each use; when a worker starts, `checkFiles` with
 * `namedByFields` is called instead.
 */
export function checkFieldFiles(
  descriptor: Pick<Descriptor, 'fields'>,
  values: JsonObject,
  path: Path,
): readonly Problem[] {
  return checkFiles(namedByFields(descriptor, values, path));
}

/** The values of administrators' fields that name files. `path` is the path of the fields. */
export function namedByFields(
  { fields }: Pick<Descriptor, 'fields'>,
  values: JsonObject,
  path: Path = [],
): readonly NamedFile[] {
  return Object.entries(fields?.admin ?? {}).flatMap(([key, { files = {} }]) => {
    const value = values[key];
    if (value === undefined) return [];
    if (typeof files === 'string') return [{ path: [...path, key], kind: files, named: value }];
    return Object.entries(files).flatMap(([place, kind]) =>
      valuesAt(value, place.split('.')).map(({ at, named }) => ({
        path: [...path, key, ...at],
        kind,
        named,
      })),
    );
  });
}

function valuesAt(
  value: Json,
  [first, ...rest]: readonly string[],
): readonly { readonly at: Path; readonly named: Json }[] {
  if (first === undefined) return [{ at: [], named: value }];
  const entries: readonly (readonly [string | number, Json])[] = Array.isArray(value)
    ? value.map((item: Json, index) => [index, item] as const)
    : isJsonObject(value)
      ? Object.entries(value)
      : [];
  return entries
    .filter(([key]) => first === '*' || first === String(key))
    .flatMap(([key, item]) => valuesAt(item, rest).map(({ at, named }) => ({ at: [key, ...at], named })));
}
