import { readdirSync, type Dirent } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folders of plugins, by type, below a folder with plugins. */
export const typeFolders = { provider: 'providers', automator: 'automators' } as const;

/** The folder of this module: `src/plugins` from source, `dist/plugins` when built. */
export const builtInRoot = fileURLToPath(new URL('.', import.meta.url));

/** The libraries for plugins in other languages. */
export const sdkFolder = fileURLToPath(new URL('../../sdk/', import.meta.url));

const notDescriptors: ReadonlySet<string> = new Set([
  'package.json',
  'package-lock.json',
  'npm-shrinkwrap.json',
  'tsconfig.json',
]);

/** Whether a file of a plugin's folder describes a plugin, by its name. */
export function isDescriptor(file: string): boolean {
  return file.endsWith('.json') && !file.endsWith('.fields.json') && !notDescriptors.has(file);
}

/**
 * Names of the built-in plugins and of those in these folders, by the names of their
 * descriptors. Reads none, and passes over folders that cannot be read.
 */
export function listPluginNames(
  type: keyof typeof typeFolders,
  folders: readonly string[],
): readonly string[] {
  return [builtInRoot, ...folders]
    .map((root) => join(root, typeFolders[type]))
    .flatMap((folder) => foldersIn(folder))
    .flatMap((folder) => entriesOf(folder).filter(({ name }) => isDescriptor(name)))
    .map(({ name }) => basename(name, '.json'));
}

function foldersIn(folder: string): readonly string[] {
  return entriesOf(folder)
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
    .map(({ name }) => join(folder, name));
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
