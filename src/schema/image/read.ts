import { dirname } from 'node:path';
import { sourceOf } from '../../model/image/spec.js';
import type { Json } from '../../model/json.js';
import { inlineFiles } from '../cluster/inline-files.js';
import { maxFileBytes, maxSpecDepth } from '../cluster/compose.js';
import { parseSpec } from '../cluster/read.js';
import { copyPlainJson, isPlainObject } from '../plain-json.js';
import { errorAt, maxProblems, placeProblems, type Path, type Problem } from '../problem.js';
import { readTextFile } from '../read-text.js';
import { readYamlFile } from '../yaml-source.js';
import { problemsFromZod } from '../zod-problems.js';
import { checkImage } from './check.js';
import { imageSchema, type ImageSpec } from './spec.js';

export type ImageReading =
  | { readonly ok: true; readonly spec: ImageSpec }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** Reads an image.yaml. An unreadable file is reported as a problem. */
export function loadImageFile(fileName: string): ImageReading {
  const read = readTextFile(fileName, maxFileBytes);
  if (read.ok) return readImageFile(read.text, fileName);
  const place = { file: fileName, line: 1, column: 1 };
  return {
    ok: false,
    problems: [
      { ...errorAt([], `cannot read the image: ${read.wrong}`, 'Specify the path of an image.yaml.'), place },
    ],
  };
}

/**
 * Validates the text of an image.yaml with its files inlined. Reports all problems at once,
 * each with its place.
 */
export function readImageFile(text: string, fileName: string): ImageReading {
  const source = readYamlFile(text, fileName, { bytes: maxFileBytes, depth: maxSpecDepth });
  if (!source.ok) return source;
  const fail = (problems: readonly Problem[]): ImageReading => ({
    ok: false,
    problems: placeProblems(problems.slice(0, maxProblems), source.locate),
  });
  const { value, problems: ofFiles } = inlineFiles(source.value, dirname(fileName));
  if (!isPlainObject(value))
    return fail([errorAt([], 'an image must be a mapping with name and recipe, or name and command')]);
  const reading = checkShape(value);
  if (!reading.ok) return fail([...ofFiles, ...reading.problems]);
  return ofFiles.length > 0 ? fail(ofFiles) : reading;
}

/** Validates an image of unknown origin, as it reaches the activity CHECK_IMAGE. */
export function parseImage(value: unknown): ImageReading {
  const plain = copyPlainJson(value, { bytes: maxFileBytes, depth: maxSpecDepth });
  return plain.ok ? checkShape(plain.value) : plain;
}

function checkShape(value: Json): ImageReading {
  if (!isPlainObject(value))
    return {
      ok: false,
      problems: [errorAt([], 'an image must be a mapping with name and recipe, or name and command')],
    };
  const parsed = imageSchema.safeParse(value);
  if (!parsed.success) return { ok: false, problems: problemsFromZod(imageSchema, parsed.error, value) };
  const inRecipe = checkRecipe(parsed.data);
  const problems = inRecipe.length > 0 ? inRecipe : checkImage(parsed.data);
  return problems.length > 0 ? { ok: false, problems } : { ok: true, spec: parsed.data };
}

/** Checks the services of a recipe as those of a cluster of one node. */
function checkRecipe(image: ImageSpec): readonly Problem[] {
  const { recipe } = image;
  if (recipe !== undefined && recipe.from === undefined && recipe.provider === undefined)
    return [errorAt(['recipe', 'provider'], 'is missing', 'Set a provider account, or from.')];
  const source = sourceOf(image);
  const reading = source.kind === 'recipe' ? parseSpec(source.cluster) : undefined;
  return reading === undefined || reading.ok
    ? []
    : reading.problems.map((problem) => ({ ...problem, path: pathInImage(problem.path) }));
}

function pathInImage(path: Path): Path {
  return path[0] === 'nodes' ? ['recipe', ...path.slice(2)] : path;
}
