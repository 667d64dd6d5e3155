import { existsSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { basename, join, relative, sep } from 'node:path';
import { checkDeclarations, descriptorSchema, descriptorsOfSeed, fillDescriptor, isSeedForm, seedDescriptorSchema, type Descriptor, type PluginType } from '../schema/descriptor.js';
import { checkDefaults } from '../schema/fields.js';
import { errorAt, placeProblems, type Path, type Place, type Problem } from '../schema/problem.js';
import { readTextFile } from '../schema/read-text.js';
import { readYaml } from '../schema/yaml-source.js';
import { problemsFromZod } from '../schema/zod-problems.js';
import { digestFolder } from './digest-folder.js';

/** A plugin whose descriptor is sound; its class is not loaded yet. */
export interface FoundPlugin {
  readonly descriptor: Descriptor;
  readonly folder: string;
  /** Absolute path of the module that exports the class. */
  readonly entry: string;
  readonly digest: string;
  /** The descriptor, for messages. */
  readonly place: Place;
}

export interface FoundPlugins {
  readonly found: readonly FoundPlugin[];
  readonly problems: readonly Problem[];
}

/** Looks for `providers/NAME/*.json` and `automators/NAME/*.json` under each root, and verifies the descriptors. */
export function findPlugins(roots: readonly string[]): FoundPlugins {
  const found: FoundPlugin[] = [];
  const problems: Problem[] = [];
  for (const root of roots) {
    const types = (Object.keys(typeFolders) as readonly PluginType[]).filter((type) => isFolder(join(root, typeFolders[type])));
    if (types.length === 0) problems.push(faultIn(root, 'has neither a folder providers nor automators', 'Name the folder that holds them.'));
    for (const type of types) {
      const typeFolder = join(root, typeFolders[type]);
      problems.push(...[root, typeFolder].flatMap(checkMode));
      for (const name of readdirSync(typeFolder).toSorted()) {
        const folder = join(typeFolder, name);
        if (!name.startsWith('.') && isFolder(folder)) readPluginFolder(folder, type, found, problems);
      }
    }
  }
  return { found, problems };
}

const typeFolders = { provider: 'providers', automator: 'automators' } as const satisfies Record<PluginType, string>;
const notDescriptors: ReadonlySet<string> = new Set(['package.json', 'package-lock.json', 'tsconfig.json']);
const limits = { bytes: 256 * 1024, depth: 32 };

function readPluginFolder(folder: string, type: PluginType, found: FoundPlugin[], problems: Problem[]): void {
  problems.push(...checkMode(folder));
  const files = readdirSync(folder).filter((name) => name.endsWith('.json') && !notDescriptors.has(name)).toSorted();
  if (files.length === 0) problems.push(faultIn(folder, 'holds no descriptor', `Add ${basename(folder)}.json, or move the folder away.`));
  const digest = digestFolder(folder);
  if (!digest.ok) problems.push(faultIn(folder, digest.wrong));
  for (const name of files) {
    const file = join(folder, name);
    const { descriptors, faults, place } = readDescriptors(file, type);
    problems.push(...checkMode(file), ...faults);
    for (const descriptor of descriptors) {
      const entry = findEntry(folder, descriptor);
      if (!entry.ok) problems.push({ ...errorAt(['entry'], entry.wrong), place: place(['entry']) });
      else if (digest.ok) found.push({ descriptor, folder, entry: entry.path, digest: digest.value, place: place([]) });
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
  const fail = (faults: readonly Problem[]): DescriptorReading => ({ descriptors: [], faults, place: () => top });
  const read = readTextFile(file, limits.bytes);
  if (!read.ok) return fail([{ ...errorAt([], `cannot read the descriptor: ${read.wrong}`), place: top }]);
  const source = readYaml(read.text, file, limits);
  if (!source.ok) return fail(source.problems);
  const place = source.locate;
  if (isSeedForm(source.value)) {
    const parsed = seedDescriptorSchema.safeParse(source.value);
    if (!parsed.success) return fail(placeProblems(problemsFromZod(seedDescriptorSchema, parsed.error, source.value), place));
    return { descriptors: descriptorsOfSeed(parsed.data, type), faults: [], place };
  }
  const parsed = descriptorSchema.safeParse(source.value);
  if (!parsed.success) return fail(placeProblems(problemsFromZod(descriptorSchema, parsed.error, source.value), place));
  const descriptor = fillDescriptor(parsed.data);
  const wrongType = descriptor.type === type ? []
    : [errorAt(['type'], `is ${descriptor.type}, but the plugin lies under ${typeFolders[type]}`, `Move it under ${typeFolders[descriptor.type]}.`)];
  const declarations = descriptor.fields === undefined ? [] : checkDeclarations(descriptor.fields);
  const faults = placeProblems([...wrongType, ...declarations, ...checkDefaults(descriptor)], place);
  return { descriptors: faults.length === 0 ? [descriptor] : [], faults, place };
}

/** The entry as named, else its TypeScript source (running from source), else by the name of the plugin. */
function findEntry(folder: string, { name, entry }: Descriptor): { readonly ok: true; readonly path: string } | { readonly ok: false; readonly wrong: string } {
  const candidates = entry === undefined ? [`${name}.js`, `${name}.mjs`, `${name}.cjs`, `${name}.ts`]
    : entry.endsWith('.js') ? [entry, entry.replace(/\.js$/, '.ts')] : [entry];
  const there = candidates.map((candidate) => join(folder, candidate)).find((path) => existsSync(path) && statSync(path).isFile());
  if (there === undefined) return { ok: false, wrong: `there is no file ${candidates.join(' or ')} in ${folder}` };
  const path = realpathSync(there);
  const inside = relative(realpathSync(folder), path);
  if (inside.startsWith(`..${sep}`)) return { ok: false, wrong: `${entry ?? name} lies outside the plugin's folder` };
  const [unsafe] = checkMode(path);
  return unsafe === undefined ? { ok: true, path } : { ok: false, wrong: unsafe.wrong };
}

/** What everybody may write is code that everybody may put into a worker. */
function checkMode(path: string): readonly Problem[] {
  if (process.platform === 'win32' || (statSync(path).mode & 0o002) === 0) return [];
  return [faultIn(path, 'may be written by everybody', `chmod o-w '${path}'`)];
}

function faultIn(path: string, wrong: string, right?: string): Problem {
  return errorAt([], `${path} ${wrong}`, right);
}

function isFolder(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory();
}
