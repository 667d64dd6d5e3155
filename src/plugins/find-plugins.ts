import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { z } from 'zod';
import {
  checkDescriptor,
  checkKeysOfType,
  descriptorSchema,
  descriptorsOfSeed,
  fieldsSchema,
  fillDescriptor,
  isSeedForm,
  seedDescriptorSchema,
  type Descriptor,
  type FieldDeclarations,
  type PluginType,
} from '../schema/descriptor.js';
import { checkDefaults } from '../schema/fields.js';
import { errorAt, placeProblems, type Path, type Place, type Problem } from '../schema/problem.js';
import { readTextFile } from '../schema/read-text.js';
import { readYaml } from '../schema/yaml-source.js';
import { problemsFromZod } from '../schema/zod-problems.js';
import { checkAbilities } from './abilities.js';
import { isDescriptor, sdkFolder, typeFolders } from './plugin-names.js';
import {
  checkTreeTrust,
  checkTrust,
  digestFolder,
  FileFault,
  findCommand,
  findEntry,
  resolveInside,
} from './plugin-files.js';

/** A plugin with a valid descriptor; its class is not loaded yet. */
export interface FoundPlugin {
  readonly descriptor: Descriptor;
  readonly folder: string;
  /** The root folder that contains it. */
  readonly root: string;
  /** Absolute path of the module that exports the class, or of the program. */
  readonly entry: string;
  /** For a program: its command line, with absolute paths. */
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
 * Finds `providers/NAME/*.json` and `automators/NAME/*.json` under each root, and checks the descriptors.
 * Rejects folders and files of other users, except under the root `builtIn`.
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
        errorAt(
          [],
          `${root} contains neither a providers nor an automators folder`,
          'Name the folder that contains them.',
        ),
      );
    for (const type of types) {
      const typeFolder = join(root, typeFolders[type]);
      const distrusted = root === builtIn ? [] : [root, typeFolder].flatMap(checkTrust);
      problems.push(...distrusted);
      if (distrusted.length > 0) continue;
      for (const name of readdirSync(typeFolder).toSorted()) {
        const folder = join(typeFolder, name);
        if (name.startsWith('.') || !isFolder(folder)) continue;
        const untrusted = root === builtIn ? [] : checkTreeTrust(folder);
        problems.push(...untrusted);
        if (untrusted.length === 0) readPluginFolder({ root, folder, type, builtIn }, found, problems);
      }
    }
  }
  return { found, problems };
}

const limits = { bytes: 256 * 1024, depth: 32 };

function readPluginFolder(
  {
    root,
    folder,
    type,
    builtIn,
  }: {
    readonly root: string;
    readonly folder: string;
    readonly type: PluginType;
    readonly builtIn: string | undefined;
  },
  found: FoundPlugin[],
  problems: Problem[],
): void {
  const files = readdirSync(folder).filter(isDescriptor).toSorted();
  if (files.length === 0)
    problems.push(
      errorAt([], `${folder} contains no descriptor`, `Add ${basename(folder)}.json, or remove the folder.`),
    );
  const digest = check(
    problems,
    (wrong) => errorAt([], `${folder} ${wrong}`),
    () => digestFolder(folder),
  );
  for (const name of files) {
    const { descriptors, faults, place } = readDescriptors(join(folder, name), type, root === builtIn);
    problems.push(...faults);
    for (const descriptor of descriptors) {
      problems.push(...placeProblems(checkResources(folder, descriptor), place));
      const key = descriptor.command === undefined ? 'entry' : 'command';
      const fault = (wrong: string): Problem => ({ ...errorAt([key], wrong), place: place([key]) });
      const files = check(problems, fault, () => findFiles(folder, descriptor));
      if (files !== undefined && digest !== undefined)
        found.push({ descriptor, root, folder, ...files, digest, place: place([]) });
    }
  }
}

/** The result of `work`; a FileFault becomes a problem. */
function check<Value>(
  problems: Problem[],
  describe: (wrong: string) => Problem,
  work: () => Value,
): Value | undefined {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof FileFault)) throw error;
    problems.push(describe(error.message));
    return undefined;
  }
}

/** Runs classes of the older system. */
const loomAdapter = join(sdkFolder, 'ruby', 'heddle_loom.rb');

/** The entry file or program, with absolute paths. @throws FileFault */
export function findFiles(folder: string, descriptor: Descriptor): Pick<FoundPlugin, 'entry' | 'command'> {
  if (descriptor.command !== undefined) {
    const command = findCommand(folder, descriptor.command);
    return { entry: command[0] ?? '', command };
  }
  const entry = findEntry(folder, descriptor);
  // A class in Ruby is one of the older system.
  if (!entry.endsWith('.rb')) return { entry };
  return { entry, command: ['ruby', loomAdapter, entry, descriptor.class ?? ''] };
}

interface DescriptorReading {
  readonly descriptors: readonly Descriptor[];
  readonly faults: readonly Problem[];
  readonly place: (path: Path) => Place;
}

function readDescriptors(file: string, type: PluginType, isBuiltIn: boolean): DescriptorReading {
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
  const { value, locate: place } = source;
  const failSchema = (schema: z.ZodType, error: z.ZodError): DescriptorReading =>
    fail(placeProblems(problemsFromZod(schema, error, value), place));
  if (isSeedForm(value)) {
    const parsed = seedDescriptorSchema.safeParse(value);
    return parsed.success
      ? { descriptors: descriptorsOfSeed(parsed.data, type), faults: [], place }
      : failSchema(seedDescriptorSchema, parsed.error);
  }
  const parsed = descriptorSchema.safeParse(value);
  if (!parsed.success) return failSchema(descriptorSchema, parsed.error);
  const { include } = parsed.data;
  const included = include === undefined ? undefined : readIncluded(dirname(file), include, isBuiltIn);
  if (included?.ok === false)
    return fail(included.faults.map((fault) => ({ place: place(['include']), ...fault })));
  const descriptor = fillDescriptor(parsed.data, included?.fields);
  const wrongType = errorAt(
    ['type'],
    `is ${descriptor.type}, but the plugin is under ${typeFolders[type]}`,
    `Move it under ${typeFolders[descriptor.type]}.`,
  );
  const fileName = basename(file, '.json');
  const wrongName = errorAt(
    ['name'],
    `is ${descriptor.name}, but the file is ${fileName}.json`,
    `Name the file ${descriptor.name}.json, or the plugin ${fileName}.`,
  );
  const faults = [
    ...(descriptor.type === type ? checkKeysOfType(parsed.data) : [wrongType]),
    ...(descriptor.name === fileName ? [] : [wrongName]),
    ...checkDescriptor(descriptor),
    ...checkAbilities(descriptor),
    ...checkDefaults(descriptor),
  ];
  return {
    descriptors: faults.length === 0 ? [descriptor] : [],
    faults: placeProblems(faults, place),
    place,
  };
}

/** The fields that a descriptor includes. Only built-in plugins share a file outside their folders. */
function readIncluded(
  folder: string,
  include: string,
  isBuiltIn: boolean,
):
  | { readonly ok: true; readonly fields: FieldDeclarations }
  | { readonly ok: false; readonly faults: readonly Problem[] } {
  const file = join(folder, include);
  const fail = (wrong: string) => ({ ok: false as const, faults: [errorAt(['include'], wrong)] });
  if (!existsSync(file)) return fail(`${include} does not exist in ${folder}`);
  try {
    if (!isBuiltIn) resolveInside(folder, include);
  } catch (error) {
    if (error instanceof FileFault) return fail(error.message);
    throw error;
  }
  const read = readTextFile(file, limits.bytes);
  if (!read.ok) return fail(`cannot read ${include}: ${read.wrong}`);
  const source = readYaml(read.text, file, limits);
  if (!source.ok) return { ok: false, faults: source.problems };
  const parsed = fieldsSchema.safeParse(source.value);
  if (parsed.success) return { ok: true, fields: parsed.data };
  const problems = problemsFromZod(fieldsSchema, parsed.error, source.value);
  return { ok: false, faults: placeProblems(problems, source.locate) };
}

/** Resources with a path are part of the plugin; users add the others to the store. */
function checkResources(folder: string, { resources = {} }: Descriptor): readonly Problem[] {
  const problems: Problem[] = [];
  for (const [name, { path, format }] of Object.entries(resources)) {
    if (path === undefined) continue;
    const fault = (wrong: string): Problem => errorAt(['resources', name], wrong);
    const file = join(folder, path);
    if (!existsSync(file) || isFolder(file) !== (format === 'folder'))
      problems.push(fault(`${format} ${path} does not exist in ${folder}`));
    else check(problems, fault, () => resolveInside(folder, path));
  }
  return problems;
}

function isFolder(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory();
}
