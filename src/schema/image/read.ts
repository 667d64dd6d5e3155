import { dirname } from 'node:path';
import {
  accountOfNode,
  recipeGroup,
  type CommandSource,
  type ImageSpec,
  type NodeRef,
  type RecipeSource,
  type Validation,
} from '../../model/image/spec.js';
import type { Json } from '../../model/json.js';
import { parseDuration } from '../duration.js';
import { inlineFiles } from '../inline-files.js';
import { maxSpecBytes, maxSpecDepth, parseWrittenSpec } from '../parse-spec.js';
import { isPlainObject } from '../plain-json.js';
import { errorAt, maxProblems, placeProblems, type Path, type Problem } from '../problem.js';
import { readTextFile } from '../read-text.js';
import { readYaml } from '../yaml-source.js';
import { problemsFromZod } from '../zod-problems.js';
import { checkImage } from './check.js';
import { writtenImageSchema, type WrittenImage } from './written.js';

export type ImageReading =
  | { readonly ok: true; readonly spec: ImageSpec }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** Reads an image.yaml; a file that cannot be read is a problem like any other. */
export function loadImageFile(fileName: string): ImageReading {
  const read = readTextFile(fileName, maxSpecBytes);
  if (read.ok) return readImageFile(read.text, fileName);
  const place = { file: fileName, line: 1, column: 1 };
  return {
    ok: false,
    problems: [
      { ...errorAt([], `cannot read the image: ${read.wrong}`, 'Give the path of an image.yaml.'), place },
    ],
  };
}

/**
 * Checks the text of an image.yaml, with the files that it names put in; all problems are found at once, each
 * with its place.
 */
export function readImageFile(text: string, fileName: string): ImageReading {
  const source = readYaml(text, fileName, { bytes: maxSpecBytes, depth: maxSpecDepth });
  if (!source.ok) return source;
  const fail = (problems: readonly Problem[]): ImageReading => ({
    ok: false,
    problems: placeProblems(problems.slice(0, maxProblems), source.locate),
  });
  const { value, problems: ofFiles } = inlineFiles(source.value, dirname(fileName));
  if (!isPlainObject(value))
    return fail([errorAt([], 'an image is a mapping with name and recipe, or name and command')]);
  const parsed = writtenImageSchema.safeParse(value);
  if (!parsed.success) return fail([...ofFiles, ...problemsFromZod(writtenImageSchema, parsed.error, value)]);
  const made = sourceOf(parsed.data, value);
  if (!made.ok) return fail([...ofFiles, ...made.problems]);
  const spec = specOf(parsed.data, made.source);
  const problems = [...ofFiles, ...checkImage(spec)];
  return problems.length > 0 ? fail(problems) : { ok: true, spec };
}

type SourceReading =
  | { readonly ok: true; readonly source: ImageSpec['source'] }
  | { readonly ok: false; readonly problems: readonly Problem[] };

function sourceOf(written: WrittenImage, value: Readonly<Record<string, Json>>): SourceReading {
  const { recipe, command } = written;
  if ((recipe === undefined) === (command === undefined))
    return {
      ok: false,
      problems: [
        errorAt(
          [],
          'an image has either a recipe or a command',
          'Say recipe: {provider, …} or command: {run, formats}.',
        ),
      ],
    };
  if (command !== undefined) return { ok: true, source: commandOf(command) };
  return recipeOf(written, value);
}

function commandOf({
  run,
  environment,
  formats,
  timeout,
  site,
}: NonNullable<WrittenImage['command']>): CommandSource {
  const timeoutMs = timeout === undefined ? undefined : parseDuration(timeout);
  return { kind: 'command', command: run, environment, formats, site, timeoutMs };
}

/** Its services are checked as those of a cluster of one node. */
function recipeOf(
  { name, recipe }: WrittenImage,
  { services = {}, recipe: asWritten }: Readonly<Record<string, Json>>,
): SourceReading {
  const { system: _system, from: _from, ...own } = isPlainObject(asWritten) ? asWritten : {};
  const from = recipe?.from;
  const beside =
    from === undefined
      ? []
      : ['provider', 'hardware', 'image', 'fields'].filter((key) => Object.hasOwn(own, key));
  if (beside.length > 0)
    return {
      ok: false,
      problems: beside.map((key) =>
        errorAt(
          ['recipe', key],
          'stands beside a node, which has one already',
          'Take it out, or take out from.',
        ),
      ),
    };
  const group =
    from === undefined
      ? own
      : { ...own, provider: accountOfNode, hardware: accountOfNode, image: accountOfNode };
  const reading = parseWrittenSpec({ name, services, nodes: { [recipeGroup]: { ...group, count: 1 } } });
  if (!reading.ok)
    return {
      ok: false,
      problems: reading.problems.map((problem) => ({ ...problem, path: pathInImage(problem.path) })),
    };
  const system = recipe === undefined || recipe.system === 'none' ? null : recipe.system;
  const source: RecipeSource = {
    kind: 'recipe',
    cluster: reading.spec,
    system,
    from: from === undefined ? undefined : nodeOf(from),
  };
  return { ok: true, source };
}

function nodeOf({ cluster, pool, node }: NonNullable<NonNullable<WrittenImage['recipe']>['from']>): NodeRef {
  return cluster === undefined
    ? { of: 'pool', name: pool ?? '', node }
    : { of: 'cluster', name: cluster, node };
}

function pathInImage(path: Path): Path {
  return path[0] === 'nodes' ? ['recipe', ...path.slice(2)] : path;
}

function specOf(
  { name, uploads, validate, keep, rebuildAge }: WrittenImage,
  source: ImageSpec['source'],
): ImageSpec {
  const rebuildAgeMs = rebuildAge === undefined ? undefined : parseDuration(rebuildAge);
  const validation = validate === false ? undefined : validationOf(validate, source, uploads[0]?.provider);
  return { name, source, uploads, keep, validate: validation, rebuildAgeMs };
}

function validationOf(
  { provider, hardware, fields, command, within }: Exclude<WrittenImage['validate'], false>,
  source: ImageSpec['source'],
  first: string | undefined,
): Validation {
  const group = source.kind === 'recipe' ? source.cluster.groups[recipeGroup] : undefined;
  return {
    provider: provider ?? group?.provider ?? first ?? '',
    hardware: hardware ?? group?.hardware ?? 'default',
    fields: fields ?? group?.fields ?? {},
    withinMs: parseDuration(within) ?? 0,
    command,
  };
}
