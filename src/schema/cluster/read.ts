import { mayHoldExpressions } from '../../model/expression/parse.js';
import type { Json, JsonObject } from '../../model/json.js';
import { copyPlainJson, isPlainObject } from '../plain-json.js';
import {
  errorAt,
  hasErrors,
  maxProblems,
  placeProblems,
  type Locate,
  type Path,
  type Problem,
} from '../problem.js';
import { readTextFile } from '../read-text.js';
import { problemsFromZod } from '../zod-problems.js';
import { jsonBytes, maxSpecBytes } from '../../model/carried.js';
import { bindVariables, declaredVariables, isUnset, type GivenValues } from './bind.js';
import { checkCluster } from './check.js';
import { composeSpec, maxFileBytes, maxSpecDepth } from './compose.js';
import { checkExpressions, hasNoValue } from './expressions.js';
import { checkNoFiles } from './inline-files.js';
import { clusterSchema, type ClusterSpec } from './spec.js';
import type { VariableDeclaration } from './variable.js';

export type SpecReading =
  | { readonly ok: true; readonly spec: ClusterSpec; readonly warnings: readonly Problem[] }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/**
 * Validates a spec of unknown origin, as it reaches a workflow or the activity PLAN. Reports
 * all problems at once and never throws.
 */
export function parseSpec(value: unknown): SpecReading {
  const plain = copyPlainJson(value, { bytes: maxFileBytes, depth: maxSpecDepth });
  if (!plain.ok) return plain;
  if (!isPlainObject(plain.value))
    return { ok: false, problems: [errorAt([], 'a spec must be a mapping with name, nodes and services')] };
  const parsed = clusterSchema.safeParse(plain.value);
  if (!parsed.success)
    return { ok: false, problems: problemsFromZod(clusterSchema, parsed.error, plain.value) };
  const problems = [
    ...checkSize(parsed.data),
    ...checkNoFiles(plain.value),
    ...checkCluster(parsed.data),
    ...checkExpressions(parsed.data),
  ];
  const errors = problems.filter(({ severity }) => severity === 'error');
  const warnings = problems.filter(({ severity }) => severity === 'warning').slice(0, maxProblems);
  return errors.length > 0
    ? { ok: false, problems: [...errors, ...warnings].slice(0, maxProblems) }
    : { ok: true, spec: parsed.data, warnings };
}

function checkSize(spec: ClusterSpec): readonly Problem[] {
  const bytes = jsonBytes(spec);
  if (bytes <= maxSpecBytes) return [];
  const wrong = `the spec has ${bytes} bytes as JSON, including its files; the limit is ${maxSpecBytes}`;
  return [
    errorAt(
      [],
      wrong,
      "Store large scripts and files as resources ('heddle resource put') and refer to those.",
    ),
  ];
}

/**
 * Binds the variables that a normalised spec still declares: those whose values were left out.
 * Without places.
 */
export function rebindSpec(spec: Json, given: GivenValues): SpecReading {
  const bound = bindVariables(spec, given);
  if (hasErrors(bound.problems)) return { ok: false, problems: bound.problems };
  return parseSpec(bound.value);
}

/** A spec file before its variables are bound. */
interface OpenedSpec {
  readonly variables: Readonly<Record<string, VariableDeclaration>>;
  /** Binds the variables, validates and normalises the spec. Every problem has its place. */
  read(given: GivenValues): SpecReading;
  /**
   * As `read`, but variables may have no value: what depends on them is not checked. The spec
   * is absent if that is needed to read it.
   */
  check(given: GivenValues): SpecCheck;
  readonly locate: Locate;
}

interface SpecCheck {
  readonly problems: readonly Problem[];
  readonly spec?: ClusterSpec;
  /** Variables without a value. */
  readonly unset: readonly string[];
}

/** Reads a spec file. An unreadable file is reported as a problem. */
export function loadSpecFile(fileName: string, given: GivenValues = {}): SpecReading {
  const opened = openSpecFile(fileName);
  return opened.ok ? opened.read(given) : opened;
}

/**
 * Reads the text of a spec file (YAML or JSON), inlines its files, binds its variables,
 * validates and normalises it. Reports all problems at once, each with its place. `fileName` is
 * used for messages and as the base of relative paths.
 */
export function readSpecFile(text: string, fileName: string, given: GivenValues = {}): SpecReading {
  const opened = openSpec(text, fileName);
  return opened.ok ? opened.read(given) : opened;
}

type Opening = ({ readonly ok: true } & OpenedSpec) | Extract<SpecReading, { readonly ok: false }>;

/** Reads a spec file up to the values of its variables. */
export function openSpecFile(fileName: string): Opening {
  const read = readTextFile(fileName, maxFileBytes);
  if (read.ok) return openSpec(read.text, fileName);
  const place = { file: fileName, line: 1, column: 1 };
  return {
    ok: false,
    problems: [
      { ...errorAt([], `cannot read the spec: ${read.wrong}`, 'Specify the path of a cluster.yaml.'), place },
    ],
  };
}

function openSpec(text: string, fileName: string): Opening {
  const composed = composeSpec(text, fileName, { bytes: maxFileBytes, depth: maxSpecDepth });
  if (!composed.ok) return composed;
  const { value, locate } = composed;
  const check = (given: GivenValues, isReported: (problem: Problem) => boolean): SpecCheck => {
    const bound = bindVariables(value, given);
    const reading = parseSpec(bound.value);
    const checked = reading.ok ? reading.warnings : reading.problems;
    const found = [
      ...composed.problems,
      ...bound.problems.filter(isReported),
      ...checked.filter((problem) => !followsFrom(problem, bound)),
    ];
    return {
      problems: placeProblems(found, locate).slice(0, maxProblems),
      ...(reading.ok ? { spec: reading.spec } : {}),
      unset: bound.problems.filter(isUnset).map(({ path }) => String(path[1])),
    };
  };
  return {
    ok: true,
    variables: declaredVariables(value),
    locate,
    check: (given) => check(given, (problem) => !isUnset(problem)),
    read: (given) => {
      const { problems, spec } = check(given, () => true);
      return spec !== undefined && !hasErrors(problems)
        ? { ok: true, spec, warnings: problems }
        : { ok: false, problems };
    },
  };
}

/** Problems of expressions that binding already reported, and of texts that still contain them. */
function followsFrom({ path, wrong, excerpt }: Problem, bound: ReturnType<typeof bindVariables>): boolean {
  if (!hasErrors(bound.problems)) return false;
  if (excerpt === undefined) return isOpen(bound.value, path);
  const isSame = (other: Problem): boolean =>
    other.excerpt === excerpt && JSON.stringify(other.path) === JSON.stringify(path);
  return wrong.endsWith(hasNoValue) || bound.problems.some(isSame);
}

/** Whether the value at a path still contains an expression. */
function isOpen(spec: Json, path: Path): boolean {
  const value = path.reduce<Json | undefined>(
    (inner, key) => (isPlainObject(inner) || Array.isArray(inner) ? (inner as JsonObject)[key] : undefined),
    spec,
  );
  return typeof value === 'string' && mayHoldExpressions(value);
}
