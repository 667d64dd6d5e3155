import { copyPlainJson, isPlainObject } from '../plain-json.js';
import {
  errorAt,
  hasErrors,
  maxProblems,
  placeProblems,
  type Path,
  type Place,
  type Problem,
} from '../problem.js';
import { readTextFile } from '../read-text.js';
import { readYamlFile } from '../yaml-source.js';
import { problemsFromZod } from '../zod-problems.js';
import { checkPool } from './check.js';
import { poolSchema, poolsSchema, type PoolSpec } from './spec.js';

/** The file must fit into one message to the server. */
export const maxPoolsBytes = 1024 * 1024;

export type PoolsReading =
  | { readonly ok: true; readonly pools: readonly PoolSpec[]; readonly locate: (path: Path) => Place }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** Reads a pools.yaml. An unreadable file is reported as a problem. */
export function loadPoolsFile(fileName: string): PoolsReading {
  const read = readTextFile(fileName, maxPoolsBytes);
  if (read.ok) return readPoolsFile(read.text, fileName);
  const place = { file: fileName, line: 1, column: 1 };
  return {
    ok: false,
    problems: [
      { ...errorAt([], `cannot read the pools: ${read.wrong}`, 'Specify the path of a pools.yaml.'), place },
    ],
  };
}

/** Validates the text of a pools.yaml. Reports all problems at once, each with its place. */
export function readPoolsFile(text: string, fileName: string): PoolsReading {
  const source = readYamlFile(text, fileName, { bytes: maxPoolsBytes, depth: 32 });
  if (!source.ok) return source;
  const { value, locate } = source;
  const fail = (problems: readonly Problem[]): PoolsReading => ({
    ok: false,
    problems: placeProblems(problems.slice(0, maxProblems), locate),
  });
  if (!isPlainObject(value))
    return fail([errorAt([], 'the file must be a mapping: pools: {<name>: {labels, providerPools}}')]);
  const parsed = poolsSchema.safeParse(value);
  if (!parsed.success) return fail(problemsFromZod(poolsSchema, parsed.error, value));
  const pools = Object.entries(parsed.data.pools).map(([name, pool]) => poolSchema.parse({ name, ...pool }));
  const problems = pools.flatMap((pool) => checkPool(pool, ['pools', pool.name]));
  return hasErrors(problems) ? fail(problems) : { ok: true, pools, locate };
}

export type PoolReading =
  | { readonly ok: true; readonly spec: PoolSpec }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** Validates a pool of unknown origin, as it reaches the activity PLAN_POOL. */
export function parsePool(value: unknown): PoolReading {
  const plain = copyPlainJson(value, { bytes: maxPoolsBytes, depth: 32 });
  if (!plain.ok) return plain;
  if (!isPlainObject(plain.value))
    return {
      ok: false,
      problems: [errorAt([], 'a pool must be a mapping with name, labels and providerPools')],
    };
  const parsed = poolSchema.safeParse(plain.value);
  if (!parsed.success) return { ok: false, problems: problemsFromZod(poolSchema, parsed.error, plain.value) };
  const problems = checkPool(parsed.data, []);
  return hasErrors(problems) ? { ok: false, problems } : { ok: true, spec: parsed.data };
}
