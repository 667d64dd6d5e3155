import { realpathSync } from 'node:fs';
import { basename, dirname, join, normalize, resolve, sep } from 'node:path';
import { matchesReference } from '../schema/reference-pattern.js';
import type { AllowReference } from './reference.js';

/** Variables with access to payloads, Temporal or Vault; only administrators may refer to them. */
const ownVariables = /^env:(HEDDLE|TEMPORAL|VAULT)_/;

/**
 * Patterns such as `env:APP_*` or `exec:get app/*`, compared word by word. Without patterns everything may stand
 * there, but never a variable or a file of Heddle itself, whatever the patterns say.
 * @param ownPaths Folders and files of Heddle: keys, state, stored secrets, the configuration.
 */
export function allowReferences(
  patterns: readonly string[] | undefined,
  ownPaths: readonly string[] = [],
): AllowReference {
  const isOwn = (reference: string): boolean =>
    ownVariables.test(reference) ||
    (reference.startsWith('file:') && isWithin(reference.slice('file:'.length), ownPaths));
  if (patterns === undefined) return (reference) => !isOwn(reference);
  return (reference) =>
    isPlain(reference) &&
    !isOwn(reference) &&
    patterns.some((pattern) => matchesReference(pattern, reference));
}

/** A path that goes up is another than it seems. */
function isPlain(reference: string): boolean {
  if (!reference.startsWith('file:')) return true;
  const path = reference.slice('file:'.length);
  return normalize(path) === path;
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
