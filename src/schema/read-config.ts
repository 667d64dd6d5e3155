import { configSchema, type Settings } from './config.js';
import { isPlainObject } from './plain-json.js';
import { errorAt, placeProblems, type Path, type Place, type Problem } from './problem.js';
import { readYamlFile } from './yaml-source.js';
import { problemsFromZod } from './zod-problems.js';

export type ConfigReading =
  | { readonly ok: true; readonly config: Settings; readonly locate: (path: Path) => Place }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/**
 * Validates the text of a heddle.yaml; every problem has its place. An empty file is valid.
 */
export function readConfigFile(text: string, fileName: string): ConfigReading {
  const top = { file: fileName, line: 1, column: 1 };
  const isEmpty = text.split('\n').every((line) => /^\uFEFF?\s*(#|$)/.test(line));
  if (isEmpty) return { ok: true, config: configSchema.parse({}), locate: () => top };
  const source = readYamlFile(text, fileName, { bytes: 1024 * 1024, depth: 32 });
  if (!source.ok) return source;
  if (!isPlainObject(source.value))
    return {
      ok: false,
      problems: [{ ...errorAt([], 'the configuration must be a mapping of keys and values'), place: top }],
    };
  const parsed = configSchema.safeParse(source.value);
  if (parsed.success) return { ok: true, config: parsed.data, locate: source.locate };
  return {
    ok: false,
    problems: placeProblems(problemsFromZod(configSchema, parsed.error, source.value), source.locate),
  };
}
