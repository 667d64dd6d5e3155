import { dirname } from 'node:path';
import { copyPlainJson, isPlainObject } from '../plain-json.js';
import { errorAt, hasErrors, maxProblems, placeProblems, type Problem } from '../problem.js';
import { readTextFile } from '../read-text.js';
import { readYamlFile } from '../yaml-source.js';
import { problemsFromZod } from '../zod-problems.js';
import { checkCluster } from './check.js';
import { checkNoFiles, inlineFiles } from './inline-files.js';
import { clusterSchema, type ClusterSpec } from './spec.js';

/**
 * A spec as text, and normalised as JSON, has at most this many bytes: one message to the server holds it.
 */
export const maxSpecBytes = 1024 * 1024;
export const maxSpecDepth = 64;

export type SpecReading =
  | { readonly ok: true; readonly spec: ClusterSpec; readonly warnings: readonly Problem[] }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/**
 * Checks a spec of unknown origin, as it reaches a workflow or the activity PLAN. Finds all problems at once
 * and never throws.
 */
export function parseSpec(value: unknown): SpecReading {
  const plain = copyPlainJson(value, { bytes: maxSpecBytes, depth: maxSpecDepth });
  if (!plain.ok) return plain;
  if (!isPlainObject(plain.value))
    return { ok: false, problems: [errorAt([], 'a spec is a mapping with name, nodes and services')] };
  const parsed = clusterSchema.safeParse(plain.value);
  if (!parsed.success)
    return { ok: false, problems: problemsFromZod(clusterSchema, parsed.error, plain.value) };
  const problems = [...checkNoFiles(plain.value), ...checkCluster(parsed.data)];
  const errors = problems.filter(({ severity }) => severity === 'error');
  const warnings = problems.filter(({ severity }) => severity === 'warning').slice(0, maxProblems);
  return errors.length > 0
    ? { ok: false, problems: [...errors, ...warnings].slice(0, maxProblems) }
    : { ok: true, spec: parsed.data, warnings };
}

/** Reads a spec file; one that cannot be read is a problem like any other. */
export function loadSpecFile(fileName: string): SpecReading {
  const read = readTextFile(fileName, maxSpecBytes);
  if (read.ok) return readSpecFile(read.text, fileName);
  const place = { file: fileName, line: 1, column: 1 };
  return {
    ok: false,
    problems: [
      { ...errorAt([], `cannot read the spec: ${read.wrong}`, 'Give the path of a cluster.yaml.'), place },
    ],
  };
}

/**
 * Reads the text of a spec file (YAML or JSON), puts in the files that it names, checks and normalises it.
 * Every problem is found at once and comes with its place. `fileName` is used for messages and as the base of
 * relative paths.
 */
export function readSpecFile(text: string, fileName: string): SpecReading {
  const source = readYamlFile(text, fileName, { bytes: maxSpecBytes, depth: maxSpecDepth });
  if (!source.ok) return source;
  const inlined = inlineFiles(source.value, dirname(fileName));
  const reading = parseSpec(inlined.value);
  const found = [...inlined.problems, ...(reading.ok ? reading.warnings : reading.problems)].slice(
    0,
    maxProblems,
  );
  const problems = placeProblems(found, source.locate);
  return reading.ok && !hasErrors(problems)
    ? { ok: true, spec: reading.spec, warnings: problems }
    : { ok: false, problems };
}
