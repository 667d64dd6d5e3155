import { isJsonObject, type Json, type JsonObject } from '../model/json.js';
import type { Descriptor } from './descriptor.js';
import type { FieldDeclaration } from './descriptor-field.js';
import {
  distrustAt,
  pathsIn,
  whyFilesUntrusted,
  type FileCheckOptions,
  type NamedFileKind,
} from './named-files.js';
import type { Path, Problem } from './problem.js';

/**
 * Files that administrators' fields name, and that other users own or may write. `path` is where the values stand.
 * @param options as for `whyFilesUntrusted`.
 */
export function checkFieldFiles(
  { fields }: Pick<Descriptor, 'fields'>,
  values: JsonObject,
  path: Path,
  options: Pick<FileCheckOptions, 'atStart'> = {},
): readonly Problem[] {
  const trusted = new Set<string>();
  return Object.entries(fields?.admin ?? {}).flatMap(([key, { files }]) => {
    const value = values[key];
    if (files === undefined || value === undefined) return [];
    return placesOf(files, value).flatMap(({ kind, at, named }) => {
      const distrust = whyFilesUntrusted(kind, named, { ...options, trusted });
      return distrust === undefined ? [] : [distrustAt([...path, key, ...at], distrust)];
    });
  });
}

/** Paths of all files and folders that administrators' fields name. */
export function filesOfFields({ fields }: Pick<Descriptor, 'fields'>, values: JsonObject): readonly string[] {
  return Object.entries(fields?.admin ?? {}).flatMap(([key, { files }]) => {
    const value = values[key];
    if (files === undefined || value === undefined) return [];
    return placesOf(files, value).flatMap(({ kind, named }) => pathsIn(kind, named));
  });
}

interface NamedPlace {
  readonly kind: NamedFileKind;
  readonly at: Path;
  readonly named: Json;
}

function placesOf(files: NonNullable<FieldDeclaration['files']>, value: Json): readonly NamedPlace[] {
  if (typeof files === 'string') return [{ kind: files, at: [], named: value }];
  return Object.entries(files).flatMap(([place, kind]) =>
    valuesAt(value, place.split('.')).map(({ at, named }) => ({ kind, at, named })),
  );
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
