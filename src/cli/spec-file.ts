import type { ClusterSpec } from '../model/cluster/spec.js';
import { openSpecFile } from '../schema/cluster/read.js';
import type { VariableDeclaration } from '../schema/cluster/variable.js';
import { formatProblem, ProblemsError, type Path, type Problem } from '../schema/problem.js';
import { completeVariables, type VariableOptions } from './given-variables.js';

/**
 * Reads a cluster file with the values of its variables; warnings go to standard error. Needs no server.
 * @throws ProblemsError with the place of everything that is wrong.
 */
export async function readSpec(file: string, options: VariableOptions): Promise<ClusterSpec> {
  return (await readDeclaredSpec(file, options)).spec;
}

export interface DeclaredSpec {
  readonly spec: ClusterSpec;
  readonly variables: Readonly<Record<string, VariableDeclaration>>;
}

/** The same, with what the file says of its variables. */
export async function readDeclaredSpec(file: string, options: VariableOptions): Promise<DeclaredSpec> {
  const opened = openSpecFile(file);
  const reading = opened.ok ? opened.read(await completeVariables(opened.variables, options)) : opened;
  if (!reading.ok) throw new ProblemsError(`${file} cannot be used:`, reading.problems);
  for (const warning of reading.warnings) process.stderr.write(`${formatProblem(warning)}\n`);
  return { spec: reading.spec, variables: opened.ok ? opened.variables : {} };
}

/** What the workers found wrong with a spec, with the places in the file; any other error unchanged. */
export function placeProblems(error: unknown, file: string): unknown {
  const problems = findProblems(error);
  if (problems === undefined) return error;
  const source = openSpecFile(file);
  const placed = source.ok
    ? problems.map((problem) => ({ ...problem, place: source.locate(problem.path, problem.excerpt) }))
    : problems;
  return new ProblemsError(`${file} cannot be used:`, placed);
}

/**
 * Problems that workers found; undefined for any other error. The planner's failure carries them as details,
 * somewhere in the chain of causes.
 */
export function findProblems(error: unknown): readonly Problem[] | undefined {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (
      !('type' in cause) ||
      cause.type !== 'Invalid' ||
      !('details' in cause) ||
      !Array.isArray(cause.details)
    )
      continue;
    const [problems] = cause.details as unknown[];
    if (Array.isArray(problems) && problems.length > 0 && problems.every(isProblem)) return problems;
  }
  return undefined;
}

function isProblem(value: unknown): value is Problem {
  if (typeof value !== 'object' || value === null) return false;
  const { path, wrong } = value as { readonly path?: Path; readonly wrong?: unknown };
  return Array.isArray(path) && typeof wrong === 'string';
}
