import type { ClusterSpec } from '../model/cluster/spec.js';
import type { Json } from '../model/json.js';
import { checkSpec } from './check-spec.js';
import { closedSpecSchema } from './closed-spec.js';
import { checkNoFiles } from './inline-files.js';
import { normaliseSpec } from './normalise-spec.js';
import { copyPlainJson, isPlainObject } from './plain-json.js';
import { errorAt, maxProblems, type Problem } from './problem.js';
import { writtenSpecSchema } from './spec.js';
import { problemsFromZod } from './zod-problems.js';

/**
 * A spec as text, and closed as JSON, has at most this many bytes: it must fit into one message to the
 * server.
 */
export const maxSpecBytes = 1024 * 1024;
export const maxSpecDepth = 64;

export type SpecReading =
  | { readonly ok: true; readonly spec: ClusterSpec; readonly warnings: readonly Problem[] }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/**
 * Checks a spec of unknown make, as it reaches a workflow or the PLAN activity: one that people wrote
 * (`nodes`), or one that was closed before (`groups`). Finds all problems at once and never throws.
 */
export function parseSpec(value: unknown): SpecReading {
  const plain = copyPlainJson(value, { bytes: maxSpecBytes, depth: maxSpecDepth });
  if (!plain.ok) return plain;
  const closed =
    isPlainObject(plain.value) &&
    Object.hasOwn(plain.value, 'groups') &&
    !Object.hasOwn(plain.value, 'nodes');
  return closed ? parseClosedSpec(plain.value) : parseWrittenSpec(plain.value);
}

/** Checks and closes a spec that people wrote; the value is plain JSON already. */
export function parseWrittenSpec(value: Json): SpecReading {
  if (!isPlainObject(value))
    return { ok: false, problems: [errorAt([], 'a spec is a mapping with name, nodes and services')] };
  const parsed = writtenSpecSchema.safeParse(value);
  if (!parsed.success)
    return { ok: false, problems: problemsFromZod(writtenSpecSchema, parsed.error, value) };
  const spec = normaliseSpec(parsed.data);
  return judge(spec, [...checkNoFiles(value), ...checkSpec(spec)]);
}

function parseClosedSpec(value: Json): SpecReading {
  const parsed = closedSpecSchema.safeParse(value);
  if (!parsed.success) return { ok: false, problems: problemsFromZod(closedSpecSchema, parsed.error, value) };
  return judge(parsed.data, checkSpec(parsed.data));
}

function judge(spec: ClusterSpec, problems: readonly Problem[]): SpecReading {
  const errors = problems.filter(({ severity }) => severity === 'error');
  const warnings = problems.filter(({ severity }) => severity === 'warning').slice(0, maxProblems);
  return errors.length > 0
    ? { ok: false, problems: [...errors, ...warnings].slice(0, maxProblems) }
    : { ok: true, spec, warnings };
}
