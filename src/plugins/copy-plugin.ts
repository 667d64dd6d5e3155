import {
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  symlinkSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { findFiles, type FoundPlugin } from './find-plugins.js';
import { digestFolder, FileFault, isInside, linkTarget } from './plugin-files.js';

/**
 * Copies a plugin, with its dependencies and hidden files, into its own folder under `root`.
 * @returns the plugin in the copy. @throws FileFault
 */
export function copyPlugin(plugin: FoundPlugin, root: string): FoundPlugin {
  const { descriptor, digest } = plugin;
  const source = realpathSync(plugin.folder);
  const outer = join(root, `${descriptor.type}-${descriptor.name}`);
  mkdirSync(outer, { recursive: true, mode: 0o700 });
  const folder = join(mirrorSurroundings(source, realpathSync(outer)), basename(source));
  copyFolder(source, folder, source);
  if (digestFolder(folder) !== digest)
    throw new FileFault(`${plugin.folder} changed while it was being copied. Try again when it is complete`);
  return { ...plugin, folder, ...findFiles(folder, descriptor) };
}

/**
 * Node resolves packages and module types in parent folders. They are not part of the plugin, so the copy
 * refers to the same packages. @returns the folder that replaces the parent of the source.
 */
function mirrorSurroundings(source: string, outer: string): string {
  const parent = dirname(source);
  if (parent === source) return outer;
  const above = mirrorSurroundings(parent, outer);
  const [packages, manifest] = [join(parent, 'node_modules'), join(parent, 'package.json')];
  const hasPackages = basename(parent) !== 'node_modules' && existsSync(packages);
  if (!hasPackages && !existsSync(manifest)) return above;
  const place = join(above, basename(parent) || 'root');
  mkdirSync(place);
  if (hasPackages) symlinkSync(packages, join(place, 'node_modules'));
  if (existsSync(manifest)) copyFileSync(manifest, join(place, 'package.json'));
  return place;
}

function copyFolder(source: string, target: string, plugin: string): void {
  mkdirSync(target, { mode: 0o700 });
  for (const entry of readdirSync(source, { withFileTypes: true })) {
    const [from, to] = [join(source, entry.name), join(target, entry.name)];
    if (entry.isSymbolicLink()) copyLink(from, to, plugin);
    else if (entry.isDirectory() && !generated.has(entry.name)) copyFolder(from, to, plugin);
    else if (entry.isFile()) copyFileSync(from, to, constants.COPYFILE_FICLONE);
  }
}

/** Large or outdated in a copy, and not needed to run. */
const generated: ReadonlySet<string> = new Set(['.git', '__pycache__']);

/**
 * Links of dependencies may point outside, such as to a workspace or an interpreter; other links were
 * rejected before.
 */
function copyLink(from: string, to: string, plugin: string): void {
  const target = linkTarget(from);
  const path = resolve(dirname(from), target);
  symlinkSync(isInside(plugin, path) ? target : path, to);
}
