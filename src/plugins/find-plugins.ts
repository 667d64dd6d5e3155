import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import {
  checkDescriptor,
  descriptorSchema,
  descriptorsOfSeed,
  fillDescriptor,
  isSeedForm,
  seedDescriptorSchema,
  type Descriptor,
  type PluginType,
} from '../schema/descriptor.js';
import { checkDefaults } from '../schema/fields.js';
import { errorAt, placeProblems, type Path, type Place, type Problem } from '../schema/problem.js';
import { readTextFile } from '../schema/read-text.js';
import { readYaml } from '../schema/yaml-source.js';
import { problemsFromZod } from '../schema/zod-problems.js';
import { digestFolder } from './digest-folder.js';
import { checkFile, checkTreeTrust, checkTrust, faultIn } from './check-file.js';
import { findCommand, findEntry } from './find-entry.js';

/** A plugin whose descriptor is sound; its class is not loaded yet. */
export interface FoundPlugin {
  readonly descriptor: Descriptor;
  readonly folder: string;
  /** The folder among those that were looked through that holds it. */
  readonly root: string;
  /** Absolute path of the module that exports the class, or of the program. */
  readonly entry: string;
  /** For a program: its words, paths absolute. */
  readonly command?: readonly string[];
  readonly digest: string;
  /** The descriptor, for messages. */
  readonly place: Place;
}

export interface FoundPlugins {
  readonly found: readonly FoundPlugin[];
  readonly problems: readonly Problem[];
}

/**
 * Looks for `providers/NAME/*.json` and `automators/NAME/*.json` under each root, and verifies the
 * descriptors. Folders and files of other users are refused, but for those in `builtIn`: they came with the
 * code that runs here.
 */
export function findPlugins(roots: readonly string[], builtIn?: string): FoundPlugins {
  const found: FoundPlugin[] = [];
  const problems: Problem[] = [];
  for (const root of roots) {
    const types = (Object.keys(typeFolders) as readonly PluginType[]).filter((type) =>
      isFolder(join(root, typeFolders[type])),
    );
    if (types.length === 0)
      problems.push(
        faultIn(root, 'has neither a folder providers nor automators', 'Name the folder that holds them.'),
      );
    for (const type of types) {
      const typeFolder = join(root, typeFolders[type]);
      const distrusted = root === builtIn ? [] : [root, typeFolder].flatMap(checkTrust);
      problems.push(...distrusted);
      if (distrusted.length > 0) continue;
      for (const name of readdirSync(typeFolder).toSorted()) {
        const folder = join(typeFolder, name);
        if (!name.startsWith('.') && isFolder(folder))
          readPluginFolder({ root, folder, type, isBuiltIn: root === builtIn }, found, problems);
      }
    }
  }
  return { found, problems };
}

const typeFolders = { provider: 'providers', automator: 'automators' } as const satisfies Record<
  PluginType,
  string
>;
const notDescriptors: ReadonlySet<string> = new Set(['package.json', 'package-lock.json', 'tsconfig.json']);
const limits = { bytes: 256 * 1024, depth: 32 };

interface PluginFolder {
  readonly root: string;
  readonly folder: string;
  readonly type: PluginType;
  readonly isBuiltIn: boolean;
}

function readPluginFolder(
  { root, folder, type, isBuiltIn }: PluginFolder,
  found: FoundPlugin[],
  problems: Problem[],
): void {
  const distrusted = isBuiltIn ? [] : checkTreeTrust(folder);
  if (distrusted.length > 0) {
    problems.push(...distrusted);
    return;
  }
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.json') && !notDescriptors.has(name))
    .toSorted();
  if (files.length === 0)
    problems.push(
      faultIn(folder, 'holds no descriptor', `Add ${basename(folder)}.json, or move the folder away.`),
    );
  const digest = digestFolder(folder);
  if (!digest.ok) problems.push(faultIn(folder, digest.wrong));
  for (const name of files) {
    const file = join(folder, name);
    const { descriptors, faults, place } = readDescriptors(file, type);
    problems.push(...faults);
    for (const descriptor of descriptors) {
      problems.push(...placeProblems(checkResources(folder, descriptor), place));
      const key = descriptor.command === undefined ? 'entry' : 'command';
      const entry =
        descriptor.command === undefined
          ? findEntry(folder, descriptor)
          : findCommand(folder, descriptor.command);
      if (!entry.ok) problems.push({ ...errorAt([key], entry.wrong), place: place([key]) });
      else if (digest.ok) {
        const { path, command } = entry;
        found.push({
          descriptor,
          root,
          folder,
          entry: path,
          command,
          digest: digest.value,
          place: place([]),
        });
      }
    }
  }
}

interface DescriptorReading {
  readonly descriptors: readonly Descriptor[];
  readonly faults: readonly Problem[];
  readonly place: (path: Path) => Place;
}

function readDescriptors(file: string, type: PluginType): DescriptorReading {
  const top = { file, line: 1, column: 1 };
  const fail = (faults: readonly Problem[]): DescriptorReading => ({
    descriptors: [],
    faults,
    place: () => top,
  });
  const read = readTextFile(file, limits.bytes);
  if (!read.ok) return fail([{ ...errorAt([], `cannot read the descriptor: ${read.wrong}`), place: top }]);
  const source = readYaml(read.text, file, limits);
  if (!source.ok) return fail(source.problems);
  const place = source.locate;
  if (isSeedForm(source.value)) {
    const parsed = seedDescriptorSchema.safeParse(source.value);
    if (!parsed.success)
      return fail(placeProblems(problemsFromZod(seedDescriptorSchema, parsed.error, source.value), place));
    return { descriptors: descriptorsOfSeed(parsed.data, type), faults: [], place };
  }
  const parsed = descriptorSchema.safeParse(source.value);
  if (!parsed.success)
    return fail(placeProblems(problemsFromZod(descriptorSchema, parsed.error, source.value), place));
  const descriptor = fillDescriptor(parsed.data);
  const wrongType =
    descriptor.type === type
      ? []
      : [
          errorAt(
            ['type'],
            `is ${descriptor.type}, but the plugin lies under ${typeFolders[type]}`,
            `Move it under ${typeFolders[descriptor.type]}.`,
          ),
        ];
  const faults = placeProblems(
    [...wrongType, ...checkDescriptor(descriptor), ...checkDefaults(descriptor)],
    place,
  );
  return { descriptors: faults.length === 0 ? [descriptor] : [], faults, place };
}

/** What the plugin says that it brings along must be there: else its first task would find out. */
function checkResources(folder: string, { resources = {} }: Descriptor): readonly Problem[] {
  return Object.entries(resources).flatMap(([name, { path, format }]) => {
    // Without one, people put it into the store.
    if (path === undefined) return [];
    const at = join(folder, path);
    if (!existsSync(at) || statSync(at).isDirectory() !== (format === 'folder'))
      return [errorAt(['resources', name], `there is no ${format} ${path} in ${folder}`)];
    const inside = checkFile(at, folder, path);
    return inside.ok ? [] : [errorAt(['resources', name], inside.wrong)];
  });
}

function isFolder(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory();
}
