import { existsSync, readdirSync, statSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { z } from 'zod';
import type { Json } from '../model/json.js';
import { errorAt, type Path, type Problem } from './problem.js';
import { whyUntrusted, type Distrust } from './trusted-path.js';

/**
 * How a field of a plugin names files. `file`: a file, or a folder of data. `tree`: a folder whose files are run or
 * followed. `command`: a program, or a list of words that begins with one. `url`: a URL with paths in it, as
 * `unix:///run/podman.sock` or `?keyfile=/etc/key`.
 */
export const fieldFileKinds = ['file', 'tree', 'command', 'url'] as const;
/** `made`: a folder that Heddle makes, and checks again then. */
type NamedFileKind = (typeof fieldFileKinds)[number] | 'made';

/** Settings of heddle.yaml that name files, by their schemas. */
export const namedFiles = z.registry<{ readonly kind: NamedFileKind }>();

/**
 * Why the files that a value names are not trusted; the first that is not. References and what is no text are passed
 * over: references are checked when they are resolved.
 * @param deep whether all files of a `tree` are checked, which takes a while for a large one.
 * @param trusted as for `whyUntrusted`.
 */
export function whyFilesUntrusted(
  kind: NamedFileKind,
  value: Json,
  { deep = false, trusted }: { readonly deep?: boolean; readonly trusted?: Set<string> } = {},
): Distrust | undefined {
  for (const path of pathsIn(kind, value)) {
    if (kind === 'made' && !existsSync(path)) continue;
    const distrust = deep && kind === 'tree' ? whyTreeUntrusted(path, trusted) : whyUntrusted(path, trusted);
    if (distrust !== undefined) return distrust;
  }
  return undefined;
}

/** The first untrusted file or folder. Of `node_modules` only the folder is checked: it may be huge. */
export function whyTreeUntrusted(folder: string, trusted = new Set<string>()): Distrust | undefined {
  const own = whyUntrusted(folder, trusted);
  if (own !== undefined || !existsSync(folder) || !statSync(folder).isDirectory()) return own;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    // A dangling link runs nothing.
    if (!existsSync(path)) continue;
    const isTree = entry.isDirectory() && entry.name !== 'node_modules';
    const distrust = isTree ? whyTreeUntrusted(path, trusted) : whyUntrusted(path, trusted);
    if (distrust !== undefined) return distrust;
  }
  return undefined;
}

export function distrustAt(path: Path, { path: file, wrong, right }: Distrust): Problem {
  return errorAt(path, `${file} ${wrong}`, right);
}

function pathsIn(kind: NamedFileKind, value: Json): readonly string[] {
  if (kind === 'command') return commandFiles(typeof value === 'string' ? [value] : value);
  if (typeof value !== 'string' || value === '') return [];
  return kind === 'url' ? urlFiles(value) : [resolve(value)];
}

/** The program, unless it is found on the PATH, and each word or value of an option that names a file. */
function commandFiles(value: Json): readonly string[] {
  if (!Array.isArray(value)) return [];
  const words = value.filter((word): word is string => typeof word === 'string');
  return words.flatMap((word, index) => {
    if (index === 0) return word.includes('/') ? [resolve(word)] : [];
    const path = word.replace(/^-[^=]*=/, '');
    return isAbsolute(path) && isFile(path) ? [path] : [];
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
