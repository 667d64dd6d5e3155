import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { dirname, extname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import type { Descriptor } from '../schema/descriptor.js';
import type { Problem } from '../schema/problem.js';
import { readTextFile } from '../schema/read-text.js';
import { distrustAt, whyTreeUntrusted } from '../schema/named-files.js';
import { whyUntrusted } from '../schema/trusted-path.js';

/** The plugin's files cannot be used; the message says why. */
export class FileFault extends Error {}

/**
 * Resolves symbolic links of a file in the plugin's folder. @throws FileFault if the target is outside of it.
 */
export function resolveInside(folder: string, file: string): string {
  const path = realpathSync(join(folder, file));
  if (!isInside(realpathSync(folder), path)) throw new FileFault(`${file} is outside the plugin's folder`);
  return path;
}

/** Compares the paths only. */
export function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/** A worker runs a plugin's files, so other users must not be able to change them. */
export function checkTrust(path: string): readonly Problem[] {
  const distrust = whyUntrusted(path);
  return distrust === undefined ? [] : [distrustAt([], distrust)];
}

/** The first untrusted file or folder. */
export function checkTreeTrust(folder: string): readonly Problem[] {
  const distrust = whyTreeUntrusted(folder);
  return distrust === undefined ? [] : [distrustAt([], distrust)];
}

const maxFiles = 5_000;
const maxBytes = 64 * 1024 * 1024;

/** Not part of a plugin: hidden files, dependencies and compiler output, including Python's bytecode. */
const skipped = /^\.|^node_modules$|^__pycache__$|\.d\.[cm]?ts$|\.map$/;

/** The target of a link, relative to the folder that the link is in. */
export function linkTarget(link: string): string {
  const folder = dirname(link);
  return relative(folder, resolve(folder, readlinkSync(link)));
}

/**
 * SHA-256 of the names and contents of a folder's files. A link counts as its target's path and must not
 * point outside.
 * @throws FileFault
 */
export function digestFolder(folder: string): string {
  const hash = createHash('sha256');
  let files = 0;
  let bytes = 0;
  const open = [''];
  for (let path = open.shift(); path !== undefined; path = open.shift()) {
    const items = readdirSync(join(folder, path), { withFileTypes: true });
    for (const item of items.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      if (skipped.test(item.name)) continue;
      const name = path === '' ? item.name : `${path}/${item.name}`;
      const full = join(folder, name);
      if (item.isDirectory()) open.push(name);
      if (!item.isFile() && !item.isSymbolicLink()) continue;
      files += 1;
      bytes += item.isFile() ? statSync(full).size : 0;
      if (files > maxFiles || bytes > maxBytes)
        throw new FileFault(`is too large for a plugin: more than ${maxFiles} files or ${maxBytes} bytes`);
      if (item.isSymbolicLink() && !isInside(folder, resolve(dirname(full), linkTarget(full))))
        throw new FileFault(
          `contains ${name}, a link to a file outside the plugin's folder. Copy the file into the folder`,
        );
      const content = item.isFile() ? readFileSync(full) : Buffer.from(linkTarget(full));
      hash.update(`${name}\0${content.length}\0`).update(content);
    }
  }
  return hash.digest('hex');
}

/**
 * A program's command line with absolute paths: words that begin with `./` are files of the plugin.
 * @throws FileFault
 */
export function findCommand(folder: string, words: readonly string[]): readonly string[] {
  const [program = ''] = words;
  if (program.includes('/') && !program.startsWith('./') && !program.startsWith('/'))
    throw new FileFault(`${program} must begin with ./ or be the name of a program on PATH`);
  for (const word of words.filter((each) => each.startsWith('./'))) {
    if (!isFile(join(folder, word))) throw new FileFault(`file ${word} does not exist in ${folder}`);
    resolveInside(folder, word);
  }
  const file = join(folder, program);
  if (program.startsWith('./') && process.platform !== 'win32' && (statSync(file).mode & 0o111) === 0)
    throw new FileFault(`${program} is not executable; run: chmod +x '${file}'`);
  return words.map((word) => (word.startsWith('./') ? join(folder, word) : word));
}

/**
 * The module that exports the plugin's class: the descriptor's `entry`, or found by the class.
 * @throws FileFault
 */
export function findEntry(folder: string, descriptor: Descriptor): string {
  const { entry } = descriptor;
  if (entry === undefined) return findDeclaring(folder, descriptor);
  // When running from source, the TypeScript file replaces the module.
  const candidates = entry.endsWith('.js') ? [entry, entry.replace(/\.js$/, '.ts')] : [entry];
  const found = candidates.find((candidate) => isFile(join(folder, candidate)));
  if (found === undefined) throw new FileFault(`file ${candidates.join(' or ')} does not exist in ${folder}`);
  return resolveInside(folder, found);
}

/** In order of preference if several declare the class: compiled modules before their source, Ruby last. */
const endings = ['.js', '.mjs', '.cjs', '.ts', '.rb'] as const;

/** Finds the class in any module of the folder, which plugins in the seed's format need. */
function findDeclaring(folder: string, { name, class: className = '' }: Descriptor): string {
  const modules = readdirSync(folder)
    .toSorted()
    .filter((file) => endings.some((ending) => ending === extname(file)) && !file.endsWith('.d.ts'))
    .filter((file) => isFile(join(folder, file)));
  const declaring = modules.filter((file) => declares(join(folder, file), className));
  const stems = new Set(declaring.map((file) => file.slice(0, -extname(file).length)));
  // A module with the plugin's name comes first, and may import its class from elsewhere.
  const [only = name] = stems.size === 1 ? stems : [];
  const chosen =
    [name, only]
      .flatMap((stem) => endings.map((ending) => `${stem}${ending}`))
      .find((file) => declaring.includes(file)) ??
    endings.map((ending) => `${name}${ending}`).find((file) => modules.includes(file));
  if (chosen !== undefined) return resolveInside(folder, chosen);
  if (stems.size > 1)
    throw new FileFault(
      `class ${className} is in ${declaring.join(' and ')}; keep one of them, or rename it to ${name}${extname(declaring[0] ?? '')}`,
    );
  throw new FileFault(
    `no ${endings.join(', ')} file in ${folder} has a class ${className}; searched ${modules.join(', ') || 'no such file'}`,
  );
}

/** A longer module is a bundle, which has the plugin's name. */
const maxModuleBytes = 8 * 1024 * 1024;

function declares(file: string, className: string): boolean {
  const read = readTextFile(file, maxModuleBytes);
  const word = className.replaceAll('$', '\\$');
  return (
    read.ok && new RegExp(`\\bclass\\s+${word}(?![\\w$])|(?<![\\w$])${word}\\s*=\\s*class\\b`).test(read.text)
  );
}

function isFile(path: string): boolean {
  return existsSync(path) && statSync(path).isFile();
}
