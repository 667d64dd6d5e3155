import type { Json } from '../model/json.js';
import { configSchema, type WrittenConfig } from '../schema/config.js';
import { distrustAt, namedFiles, whyFilesUntrusted } from '../schema/named-files.js';
import type { Path, Problem } from '../schema/problem.js';
import { schemaAt, unwrap } from '../schema/zod-problems.js';

/**
 * Files that settings of heddle.yaml name, and that other users own or may write. Which settings these are is
 * registered with their schemas (`namedFiles`); fields of plugins are declared by their descriptors.
 * @param toPath makes a path of the file absolute.
 */
export function checkOwnFiles(config: WrittenConfig, toPath: (path: string) => string): readonly Problem[] {
  return problemsIn(config as unknown as Json, [], toPath);
}

function problemsIn(value: Json, path: Path, toPath: (path: string) => string): readonly Problem[] {
  const schema = schemaAt(configSchema, path);
  const kind = schema === undefined ? undefined : namedFiles.get(unwrap(schema))?.kind;
  if (kind !== undefined) {
    const named = typeof value === 'string' ? toPath(value) : value;
    const distrust = whyFilesUntrusted(kind, named);
    return distrust === undefined ? [] : [distrustAt(path, distrust)];
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) =>
    item === undefined
      ? []
      : problemsIn(item as Json, [...path, Array.isArray(value) ? Number(key) : key], toPath),
  );
}
