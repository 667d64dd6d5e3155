import { realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { isPlainPath } from '../model/plain-path.js';
import { splitWords } from '../model/command-words.js';
import { isCommand } from '../model/secret-reference.js';
import { canonicalReference, matchesReference } from '../schema/reference-pattern.js';
import { filesOfWords } from './command-files.js';
import type { AllowReference } from './reference.js';

/** Variables that give access to payloads, Temporal or Vault; only administrators may refer to them. */
const ownVariables = /^env:(HEDDLE|TEMPORAL|VAULT)_/;

/**
 * Patterns such as `env:APP_*` or `exec:get app/*`, compared word by word. Without patterns all references
 * except commands are allowed, because a command can read everything that the worker's user can. Variables
 * and files of Heddle itself are never allowed, and a secret of heddle.yaml only if a pattern equals it
 * literally.
 * @param ownPaths Folders and files of Heddle: keys, state, stored secrets, the configuration.
 * @param configured References of heddle.yaml and its inventories, and `file:` for each file that they name.
 * @param commands Words of the commands of heddle.yaml, whose files are reserved like those of `exec:`
 * references.
 */
export function allowReferences(
  patterns: readonly string[] | undefined,
  ownPaths: readonly string[] = [],
  configured: readonly string[] = [],
  commands: readonly (readonly string[])[] = [],
): AllowReference {
  const listed = new Set(patterns?.map(canonicalReference));
  const reserved = new Set(configured.map(canonicalReference));
  const isInOwn = within(() => ownPaths);
  const isInReserved = within(() => [
    ...configured.flatMap(pathOf),
    ...[...configured.map(wordsOfCommand), ...commands].flatMap(filesOfWords),
  ]);
  const isReserved = (reference: string): boolean => {
    const canonical = canonicalReference(reference);
    return !listed.has(canonical) && (reserved.has(canonical) || pathOf(reference).some(isInReserved));
  };
  const isOwn = (reference: string): boolean =>
    ownVariables.test(reference) || pathOf(reference).some(isInOwn) || isReserved(reference);
  const isAllowed = (reference: string): boolean =>
    patterns === undefined
      ? !isCommand(reference)
      : pathOf(reference).every(isPlainPath) &&
        patterns.some((pattern) => matchesReference(pattern, reference));
  const mayRead = (path: string, reference: string): boolean =>
    !isInOwn(path) && (listed.has(canonicalReference(reference)) || !isInReserved(path));
  return (reference, opened) =>
    isAllowed(reference) && !isOwn(reference) && (opened === undefined || mayRead(opened, reference));
}

/** The words of an `exec:` reference; empty for others. */
function wordsOfCommand(reference: string): readonly string[] {
  if (!isCommand(reference)) return [];
  try {
    return splitWords(reference.slice(reference.indexOf(':') + 1));
  } catch {
    return [];
  }
}

/** The path of a `file:` reference; empty for others. */
function pathOf(reference: string): readonly string[] {
  return reference.startsWith('file:') ? [reference.slice('file:'.length)] : [];
}

/** Compares paths as written and after resolving links; a folder may be a link too. */
function within(folders: () => readonly string[]): (path: string) => boolean {
  let known: ReadonlySet<string> | undefined;
  return (path) => {
    known ??= new Set(folders().flatMap(bothPaths));
    return bothPaths(path).some((one) => {
      for (let above = one; ; above = dirname(above)) {
        if (known?.has(above) === true) return true;
        if (above === dirname(above)) return false;
      }
    });
  };
}

function bothPaths(path: string): readonly string[] {
  return [resolve(path), realPath(resolve(path))];
}

/** Uses the folder of an absent file, which may exist when the reference is resolved. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return dirname(path) === path ? path : join(realPath(dirname(path)), basename(path));
  }
}
