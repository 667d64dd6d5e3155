import { statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Json } from '../model/json.js';
import { configSchema, type Settings } from '../schema/config.js';
import { checkFiles, fileKinds, type NamedFile } from '../schema/named-files.js';
import { placeProblems, ProblemsError, type Path, type Place } from '../schema/problem.js';
import { schemaAt, unwrap } from '../schema/zod-problems.js';
import type { Environment } from './temporal.js';

/**
 * The settings of heddle.yaml that name files, as registered with their schemas (`fileKinds`).
 * Descriptors declare the fields of plugins that do.
 * @param toPath converts a path of the file to an absolute one.
 */
export function findNamedFiles(config: Settings, toPath: (path: string) => string): readonly NamedFile[] {
  return filesIn(config as unknown as Json, [], toPath);
}

/**
 * Call it in processes that use the files: workers and builders. @throws ProblemsError for
 * files that other users own or can write.
 */
export function refuseForeignSettings({
  namedFiles: settings,
  locate,
}: {
  readonly namedFiles: readonly NamedFile[];
  readonly locate?: (path: Path) => Place;
}): void {
  const problems = checkFiles(settings, { atStart: true });
  if (problems.length === 0) return;
  throw new ProblemsError(
    'The configuration cannot be used:',
    locate === undefined ? problems : placeProblems(problems, locate),
  );
}

/**
 * The owner of a folder, if it is not this process's user. The owner of the data folder is the
 * user of the workers, who may trust other files than this user.
 */
export function otherOwnerOf(folder: string): number | undefined {
  const own = process.getuid?.();
  for (let at = folder; own !== undefined; at = dirname(at)) {
    try {
      const uid = statSync(at, { throwIfNoEntry: false })?.uid;
      return uid === own ? undefined : uid;
    } catch {
      // A folder that this user may not enter has a parent that belongs to the other user.
      if (at === dirname(at)) return undefined;
    }
  }
  return undefined;
}

interface OwnPlaces {
  readonly file?: string;
  readonly dataFolder: string;
  readonly keys: { readonly folder: string };
  readonly store: { readonly folder: string };
  readonly builder: { readonly folder: string };
  readonly temporal: { readonly files: readonly string[] };
  readonly environment: Environment;
}

/**
 * Paths that are reserved for Heddle and its administrators: keys, state, logs, stored secrets,
 * configuration, and the credentials of Temporal and of the Vault CLI.
 */
export function ownPaths({
  file,
  dataFolder,
  keys,
  store,
  builder,
  temporal,
  environment,
}: OwnPlaces): readonly string[] {
  const vaultToken = join(environment['HOME'] ?? homedir(), '.vault-token');
  const folders = [dataFolder, keys.folder, store.folder, builder.folder];
  return [...folders, ...temporal.files, vaultToken, ...(file === undefined ? [] : [file])];
}

function filesIn(value: Json, path: Path, toPath: (path: string) => string): readonly NamedFile[] {
  const schema = schemaAt(configSchema, path);
  const kind = schema === undefined ? undefined : fileKinds.get(unwrap(schema))?.kind;
  if (kind !== undefined) return [{ path, kind, named: typeof value === 'string' ? toPath(value) : value }];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) =>
    item === undefined
      ? []
      : filesIn(item as Json, [...path, Array.isArray(value) ? Number(key) : key], toPath),
  );
}
