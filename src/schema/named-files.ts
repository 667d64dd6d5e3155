import { lstatSync, readdirSync, realpathSync, statSync, type Dirent } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { z } from 'zod';
import type { Json } from '../model/json.js';
import { hasErrorCode } from '../model/system-error.js';
import { errorAt, type Path, type Problem } from './problem.js';
import { wordsForFileError } from './read-text.js';
import { describeDistrust, whyUntrusted, type Distrust } from './trusted-path.js';

/**
 * How a field of a plugin names files. `file`: a file, or a folder of data. `tree`: a folder
 * whose files are executed or included. `command`: a program, or a list of a program and its
 * arguments. `socket`: a socket of another program. `url`: a URL that contains paths, such as
 * `unix:///run/podman.sock` or `?keyfile=/etc/key`.
 */
export const fieldFileKinds = ['file', 'tree', 'command', 'socket', 'url'] as const;
/** `made`: a folder that Heddle creates, and checks again on creation. */
export type NamedFileKind = (typeof fieldFileKinds)[number] | 'made';

/** Settings of heddle.yaml that name files, by their schemas. */
export const fileKinds = z.registry<{ readonly kind: NamedFileKind }>();

/** A setting of heddle.yaml, or a field of a plugin, that names files. */
export interface NamedFile {
  /** Its place in heddle.yaml. */
  readonly path: Path;
  readonly kind: NamedFileKind;
  /** With absolute paths. */
  readonly named: Json;
}

export interface FileCheckOptions {
  /**
   * When a worker starts: all files of a `tree` are checked, which takes a while for a large one, and
   * files may be absent. Before each use, an absent file that another user could create is refused.
   */
  readonly atStart?: boolean;
  /** As for `whyUntrusted`. */
  readonly trusted?: Set<string>;
}

/**
 * Why the first untrusted file of those that a value names is not trusted. Skips references,
 * which are checked when they are resolved, and values that are not text.
 */
export function whyFilesUntrusted(
  kind: NamedFileKind,
  value: Json | readonly string[] | undefined,
  { atStart = false, trusted }: FileCheckOptions = {},
): Distrust | undefined {
  // The use of an absent socket fails, and Heddle creates its folders itself.
  const mayBeAbsent = atStart || kind === 'socket' || kind === 'made';
  for (const path of pathsIn(kind, value)) {
    const distrust =
      atStart && kind === 'tree' ? whyTreeUntrusted(path, trusted) : whyUntrusted(path, trusted);
    if (distrust === undefined || (mayBeAbsent && distrust.isAbsent === true)) continue;
    if (kind !== 'made' || distrust.owner === undefined) return distrust;
    return { ...distrust, right: `Specify another folder, or run as user ${distrust.owner}` };
  }
  return undefined;
}

/** Another user owns a file, or may write or replace it. */
export class UntrustedFile extends Error {}

/**
 * Call before each use of the files that a value names. @throws UntrustedFile, or the error
 * that `toError` returns for its message.
 */
export function refuseUntrusted(
  kind: NamedFileKind,
  named: Json | readonly string[] | undefined,
  toError: (why: string) => Error = (why) => new UntrustedFile(why),
): void {
  const distrust = whyFilesUntrusted(kind, named);
  if (distrust !== undefined) throw toError(describeDistrust(distrust));
}

/**
 * The first untrusted file or folder; targets of links are part of the tree. Only the folder
 * `node_modules` itself is checked, because its content may be huge.
 */
export function whyTreeUntrusted(
  folder: string,
  trusted = new Set<string>(),
  seen = new Set<string>(),
): Distrust | undefined {
  const own = whyUntrusted(folder, trusted);
  const real = own === undefined ? realFolder(folder) : undefined;
  if (real === undefined || seen.has(real)) return own;
  seen.add(real);
  const entries = entriesIn(real);
  if (!Array.isArray(entries)) return entries;
  for (const entry of entries) {
    const path = join(real, entry.name);
    const mayBeFolder = entry.isDirectory() || entry.isSymbolicLink();
    const isTree = mayBeFolder && entry.name !== 'node_modules' && !isClosed(path);
    const distrust = isTree ? whyTreeUntrusted(path, trusted, seen) : whyUntrusted(path, trusted);
    // A link to a file that is absent now is followed when another user has created it.
    if (distrust !== undefined) return { ...distrust, isAbsent: false };
  }
  return undefined;
}

/** The folder with links resolved; undefined for a file, or if it does not exist. */
function realFolder(path: string): string | undefined {
  try {
    const real = realpathSync.native(path);
    return statSync(real).isDirectory() ? real : undefined;
  } catch {
    return undefined;
  }
}

function entriesIn(folder: string): Dirent[] | Distrust {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    return {
      path: folder,
      wrong: `cannot be checked: ${wordsForFileError(error)}`,
      right: 'Grant this user read access, or specify another folder',
    };
  }
}

/** This process cannot execute files below a folder that it may not enter, such as lost+found. */
function isClosed(path: string): boolean {
  try {
    lstatSync(`${path}/.`);
    return false;
  } catch (error) {
    return hasErrorCode(error, 'EACCES');
  }
}

/** Reports untrusted files that settings and fields name. */
export function checkFiles(
  files: readonly NamedFile[],
  options: Pick<FileCheckOptions, 'atStart'> = {},
): readonly Problem[] {
  const trusted = new Set<string>();
  return files.flatMap(({ path, kind, named }) => {
    const distrust = whyFilesUntrusted(kind, named, { ...options, trusted });
    return distrust === undefined ? [] : [distrustAt(path, distrust)];
  });
}

export function distrustAt(path: Path, { path: file, wrong, right }: Distrust): Problem {
  return errorAt(path, `${file} ${wrong}`, right);
}

/** The paths that a value names. */
export function pathsIn(kind: NamedFileKind, value: Json | readonly string[] | undefined): readonly string[] {
  if (kind === 'command') return commandFiles(typeof value === 'string' ? [value] : value);
  if (typeof value !== 'string' || value === '') return [];
  return kind === 'url' ? urlFiles(value) : [value];
}

/**
 * The program, unless it is found on the PATH, and each argument or value of an option that
 * names a file, relative to the working folder.
 */
function commandFiles(value: Json | readonly string[] | undefined): readonly string[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((word: Json, index) => {
    if (typeof word !== 'string') return [];
    if (index === 0) return word.includes('/') ? [word] : [];
    const path = word.replace(/^-[^=]*=/, '');
    return isFile(path) ? [path] : [];
  });
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function urlFiles(text: string): readonly string[] {
  if (!URL.canParse(text)) return [];
  const { protocol, pathname, searchParams } = new URL(text);
  const values = [...searchParams.values(), ...(protocol === 'unix:' ? [decodeURIComponent(pathname)] : [])];
  return values.filter((value) => isAbsolute(value));
}
