import { realpathSync } from 'node:fs';
import { basename, dirname, join, normalize, resolve, sep } from 'node:path';
import { matchesReference } from '../schema/reference-pattern.js';
import type { AllowReference } from './reference.js';

/** Variables with access to payloads, Temporal or Vault; only administrators may refer to them. */
const ownVariables = /^env:(HEDDLE|TEMPORAL|VAULT)_/;

/**
 * Patterns such as `env:APP_*` or `exec:get app/*`, compared word by word. Without patterns everything but commands
 * may stand there: a command reads whatever the worker's user may. A variable or a file of Heddle itself never may,
 * whatever the patterns say, and a secret of heddle.yaml only if it is a pattern word for word.
 * @param ownPaths Folders and files of Heddle: keys, state, stored secrets, the configuration.
 * @param configured References that heddle.yaml itself uses.
 */
export function allowReferences(
  patterns: readonly string[] | undefined,
  ownPaths: readonly string[] = [],
  configured: readonly string[] = [],
): AllowReference {
  const reserved = new Set(configured.filter((reference) => patterns?.includes(reference) !== true));
  const closedPaths = [...ownPaths, ...[...reserved].flatMap(pathOf)];
  const isOwn = (reference: string): boolean =>
    ownVariables.test(reference) ||
    reserved.has(reference) ||
    pathOf(reference).some((path) => isWithin(path, closedPaths));
  if (patterns === undefined) return (reference) => !reference.startsWith('exec:') && !isOwn(reference);
  return (reference) =>
    isPlain(reference) &&
    !isOwn(reference) &&
    patterns.some((pattern) => matchesReference(pattern, reference));
}

/** The path of a `file:` reference, and nothing of others. */
function pathOf(reference: string): readonly string[] {
  return reference.startsWith('file:') ? [reference.slice('file:'.length)] : [];
}

/** A path that goes up is another than it seems. */
function isPlain(reference: string): boolean {
  return pathOf(reference).every((path) => normalize(path) === path);
}

/** Compares the path as written and after resolving links; a folder may be a link too. */
function isWithin(path: string, folders: readonly string[]): boolean {
  const paths = [resolve(path), realPath(resolve(path))];
  const roots = folders.flatMap((folder) => [resolve(folder), realPath(resolve(folder))]);
  return paths.some((one) => roots.some((root) => one === root || one.startsWith(`${root}${sep}`)));
}

/** For an absent file its folder counts: the file may exist when the reference is resolved. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return dirname(path) === path ? path : join(realPath(dirname(path)), basename(path));
  }
}
