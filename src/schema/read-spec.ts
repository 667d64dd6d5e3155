import { dirname } from 'node:path';
import { inlineFiles } from './inline-files.js';
import { maxSpecBytes, maxSpecDepth, parseWrittenSpec, type SpecReading } from './parse-spec.js';
import { errorAt, hasErrors, maxProblems, placeProblems } from './problem.js';
import { readTextFile } from './read-text.js';
import { readYaml } from './yaml-source.js';

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
 * Reads the text of a spec file (YAML or JSON), puts in the files that it names, checks and closes it. Every
 * problem is found at once and comes with its place. `fileName` is used for messages and as the base of
 * relative paths.
 */
export function readSpecFile(text: string, fileName: string): SpecReading {
  const source = readYaml(text, fileName, { bytes: maxSpecBytes, depth: maxSpecDepth });
  if (!source.ok) return source;
  const inlined = inlineFiles(source.value, dirname(fileName));
  const reading = parseWrittenSpec(inlined.value);
  const found = [...inlined.problems, ...(reading.ok ? reading.warnings : reading.problems)].slice(
    0,
    maxProblems,
  );
  const problems = placeProblems(found, source.locate);
  return reading.ok && !hasErrors(problems)
    ? { ok: true, spec: reading.spec, warnings: problems }
    : { ok: false, problems };
}
