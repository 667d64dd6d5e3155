import { statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { mayHoldExpressions } from '../../model/expression/parse.js';
import type { Json, JsonObject } from '../../model/json.js';
import { isPlainObject, type PlainJsonLimits } from '../plain-json.js';
import { errorAt, type Locate, type Path, type Place, type Problem } from '../problem.js';
import { readTextFile, type TextReading } from '../read-text.js';
import { readYamlFile } from '../yaml-source.js';
import { inlineFiles } from './inline-files.js';

/**
 * Maximum size of a spec file, in bytes. As normalised JSON it must be smaller: clusters carry several specs.
 */
export const maxFileBytes = 1024 * 1024;
export const maxSpecDepth = 64;

/** What is read of a spec file; `bytes` is the maximum size of each file. */
interface ComposeOptions extends PlainJsonLimits {
  /** Maximum size of all files together, without those that fields name. Default: none. */
  readonly totalBytes?: number;
  /** Whether to read the files that fields name. Default: true. */
  readonly inlines?: boolean;
}

/** A spec file with everything that it includes, as one value. */
export type Composition =
  | {
      readonly ok: true;
      readonly value: Json;
      readonly problems: readonly Problem[];
      /** Places in the file that a value comes from. */
      readonly locate: Locate;
    }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** Sections that included files may contain. All other keys belong to the cluster as a whole. */
const sections = ['nodes', 'services', 'variables', 'outputs', 'config'] as const;

/** The file of a service folder. */
const serviceFile = 'service.yaml';

/** Maximum number of includes, those of included files counted. */
const maxIncludes = 500;

/** The content of one file in the form of a spec, with its own includes. */
interface Fragment {
  readonly file: string;
  readonly value: JsonObject;
  readonly locate: Locate;
}

/** Reads the text of a spec file, the files that it includes, and the files that its fields name. */
export function composeSpec(text: string, fileName: string, options: ComposeOptions): Composition {
  const source = readYamlFile(text, fileName, options);
  if (!source.ok) return source;
  const reader: Reader = { ...options, readText: readerOf(text, options) };
  const main = inlined(source.value, fileName, source.locate, options);
  if (!isPlainObject(main.value)) return { ok: true, ...main };
  const fragments: Fragment[] = [{ file: fileName, value: main.value, locate: main.locate }];
  const problems = [...main.problems];
  const known = new Set([resolve(fileName)]);
  // The loop appends included files to the list.
  for (const fragment of fragments) {
    for (const [index, path] of includesOf(fragment.value).entries()) {
      const at: Path = ['include', index];
      const refuse = (wrong: string, right?: string): void => {
        problems.push({ ...errorAt(at, wrong, right), place: fragment.locate(at) });
      };
      const read = known.size > maxIncludes ? tooMany : readInclude(path, fragment.file, reader);
      if ('wrong' in read) refuse(read.wrong, read.right);
      else if (known.has(resolve(read.file))) refuse(`${read.file} is already included`);
      else if ('problems' in read) problems.push(...read.problems);
      else {
        known.add(resolve(read.file));
        problems.push(...read.found, ...checkKeys(read.fragment));
        fragments.push(read.fragment);
      }
    }
  }
  return { ok: true, ...merge(fragments, problems) };
}

const tooMany = { wrong: `exceeds the limit of ${maxIncludes} includes`, right: undefined };

/** Leaves anything but texts for the schema to report. */
function includesOf({ include }: JsonObject): readonly string[] {
  return Array.isArray(include) ? include.filter((path): path is string => typeof path === 'string') : [];
}

type Included =
  | { readonly wrong: string; readonly right: string | undefined }
  | { readonly file: string; readonly problems: readonly Problem[] }
  | { readonly file: string; readonly fragment: Fragment; readonly found: readonly Problem[] };

interface Reader extends ComposeOptions {
  readonly readText: (file: string) => TextReading;
}

/** Reads included files, up to the limits. */
function readerOf(main: string, { bytes, totalBytes = Infinity }: ComposeOptions): Reader['readText'] {
  let left = totalBytes - Buffer.byteLength(main);
  return (file) => {
    const read = readTextFile(file, Math.min(bytes, left));
    if (read.ok) left -= Buffer.byteLength(read.text);
    return read;
  };
}

function readInclude(path: string, includer: string, { readText, ...options }: Reader): Included {
  if (mayHoldExpressions(path))
    return {
      wrong: `${JSON.stringify(path)} contains an expression, but files are included before variables have values`,
      right: 'Set the path itself.',
    };
  const named = join(dirname(includer), path);
  const target = path.startsWith('/') ? path : named;
  const isFolder = statSync(target, { throwIfNoEntry: false })?.isDirectory() === true;
  const file = isFolder ? join(target, serviceFile) : target;
  const read = readText(file);
  if (!read.ok) {
    const right = isFolder
      ? `A service folder must contain ${serviceFile} with the keys of a service.`
      : 'Paths are relative to the file that includes them.';
    return { wrong: `cannot include ${JSON.stringify(isFolder ? file : path)}: ${read.wrong}`, right };
  }
  const source = readYamlFile(read.text, file, options);
  if (!source.ok) return { file, problems: source.problems };
  const top = source.locate([]);
  if (!isPlainObject(source.value))
    return { file, problems: [{ ...errorAt([], 'the file must be a mapping'), place: top }] };
  const name = basename(resolve(target));
  const prefix = isFolder ? ['services', name] : [];
  const value = isFolder ? { services: { [name]: source.value } } : source.value;
  const { problems, ...composed } = inlined(
    value,
    file,
    (at, excerpt) => source.locate(at.slice(prefix.length), excerpt),
    options,
  );
  return {
    file,
    found: problems,
    fragment: { file, value: composed.value as JsonObject, locate: composed.locate },
  };
}

/** Inlines the files that fields name; `locate` then finds excerpts of their texts. */
function inlined(
  written: Json,
  file: string,
  locate: Locate,
  { inlines = true }: ComposeOptions,
): { readonly value: Json; readonly problems: readonly Problem[]; readonly locate: Locate } {
  if (!inlines) return { value: written, problems: [], locate };
  const { value, problems, texts } = inlineFiles(written, dirname(file));
  return {
    value,
    problems: problems.map((problem) => ({ ...problem, place: locate(problem.path) })),
    locate: (path, excerpt) => {
      const text = excerpt === undefined ? undefined : texts.get(JSON.stringify(path));
      const offset = excerpt === undefined ? -1 : (text?.text.indexOf(excerpt) ?? -1);
      return text === undefined || offset < 0 ? locate(path, excerpt) : placeIn(text.text, text.file, offset);
    },
  };
}

function placeIn(text: string, file: string, offset: number): Place {
  const before = text.slice(0, offset);
  return { file, line: before.split('\n').length, column: offset - before.lastIndexOf('\n') };
}

function checkKeys({ value, locate }: Fragment): readonly Problem[] {
  const allowed: readonly string[] = [...sections, 'include', '$schema'];
  const foreign = Object.keys(value).filter((key) => !allowed.includes(key));
  // The keys of an arbitrary file, such as a file of passwords, must not reach messages.
  if (foreign.length > 0 && foreign.length === Object.keys(value).length && !foreign.some(isWord))
    return [
      {
        ...errorAt(
          [],
          'the file is not part of a cluster spec',
          `Included files may contain ${sections.join(', ')}.`,
        ),
        place: locate([]),
      },
    ];
  return foreign.map((key) => ({
    ...errorAt(
      [key],
      'is not allowed in an included file',
      `Move it to the cluster file. Included files may contain ${sections.join(', ')}.`,
    ),
    place: locate([key]),
  }));
}

/** Keys of cluster files are plain words. */
function isWord(key: string): boolean {
  return /^[A-Za-z]+$/.test(key);
}

/** One value of all fragments. Each entry of a section comes from one of them. */
function merge(
  fragments: readonly Fragment[],
  found: readonly Problem[],
): Omit<Extract<Composition, { readonly ok: true }>, 'ok'> {
  const [main, ...included] = fragments as [Fragment, ...Fragment[]];
  const problems = [...found];
  const origins = new Map<string, Fragment>();
  let value: JsonObject = main.value;
  for (const fragment of included) {
    for (const section of sections) {
      const entries = fragment.value[section];
      if (entries === undefined) continue;
      const before = value[section] ?? {};
      if (!isPlainObject(entries) || !isPlainObject(before)) {
        if (!isPlainObject(entries))
          problems.push({ ...errorAt([section], 'must be a mapping'), place: fragment.locate([section]) });
        continue;
      }
      for (const key of Object.keys(entries)) {
        const path = [section, key];
        if (!Object.hasOwn(before, key)) origins.set(JSON.stringify(path), fragment);
        else problems.push(twice(path, fragment, origins.get(JSON.stringify(path)) ?? main));
      }
      value = { ...value, [section]: { ...entries, ...before } };
    }
  }
  const locate: Locate = (path, excerpt) =>
    (origins.get(JSON.stringify(path.slice(0, 2))) ?? main).locate(path, excerpt);
  const { include, ...rest } = value;
  const isDone =
    include === undefined || (Array.isArray(include) && includesOf(value).length === include.length);
  return { value: isDone ? rest : value, problems, locate };
}

function twice(path: Path, fragment: Fragment, other: Fragment): Problem {
  const { file, line } = other.locate(path);
  return {
    ...errorAt(path, `is already defined in ${file}:${line}`, 'Remove one of the definitions.'),
    place: fragment.locate(path),
  };
}
