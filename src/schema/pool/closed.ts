import { z } from 'zod';
import type { PoolSpec } from '../../model/pool/spec.js';
import { clusterNameSchema, foreignNameSchema, simpleNameSchema } from '../names.js';
import { copyPlainJson, isPlainObject } from '../plain-json.js';
import { errorAt, hasErrors, type Problem } from '../problem.js';
import { anyJsonSchema, fieldsSchema } from '../any-fields.js';
import { problemsFromZod } from '../zod-problems.js';
import { checkPool } from './check.js';
import { maxPoolsBytes } from './read.js';
import { amountsSchema } from './written.js';

const milliseconds = z.int().min(1);

const label = z.strictObject({
  minReady: z.int().min(0).max(1_000),
  maxReadyAgeMs: milliseconds.exactOptional(),
  spareAgeMs: milliseconds,
  maxHoldAgeMs: milliseconds.exactOptional(),
  onReturn: z.enum(['delete', 'reuse']),
  cleanUp: z
    .strictObject({
      script: z.string().min(1),
      sudo: z.literal(true).exactOptional(),
      timeoutMs: milliseconds.exactOptional(),
    })
    .exactOptional(),
});

const offer = z.strictObject({
  hardware: foreignNameSchema,
  image: foreignNameSchema,
  libraryImage: clusterNameSchema.exactOptional(),
  fields: fieldsSchema,
  uses: amountsSchema,
  launchWithinMs: milliseconds.exactOptional(),
  confirmWithinMs: milliseconds.exactOptional(),
  slots: z.int().min(1).exactOptional(),
  minRetentionMs: milliseconds.exactOptional(),
  maxAgeMs: milliseconds.exactOptional(),
});

const providerPool = z.strictObject({
  provider: simpleNameSchema,
  priority: z.int().min(0),
  limits: amountsSchema,
  ignoreQuota: z.literal(true).exactOptional(),
  attributes: z.record(z.string(), anyJsonSchema),
  launchAttempts: z.int().min(1),
  checkEveryMs: milliseconds.exactOptional(),
  keepUnwell: z.literal(true).exactOptional(),
  labels: z.record(simpleNameSchema, offer),
});

/** A pool that was closed before: what a client sends to the pool's workflow. */
export const closedPoolSchema = z.strictObject({
  name: simpleNameSchema,
  labels: z.record(simpleNameSchema, label),
  providerPools: z.record(simpleNameSchema, providerPool),
  tenants: z.record(simpleNameSchema, amountsSchema),
}) satisfies z.ZodType<PoolSpec>;

export type PoolReading =
  | { readonly ok: true; readonly spec: PoolSpec }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** Checks a pool of unknown make, as it reaches the activity PLAN_POOL. */
export function parsePool(value: unknown): PoolReading {
  const plain = copyPlainJson(value, { bytes: maxPoolsBytes, depth: 32 });
  if (!plain.ok) return plain;
  if (!isPlainObject(plain.value))
    return { ok: false, problems: [errorAt([], 'a pool is a mapping with name, labels and providerPools')] };
  const parsed = closedPoolSchema.safeParse(plain.value);
  if (!parsed.success)
    return { ok: false, problems: problemsFromZod(closedPoolSchema, parsed.error, plain.value) };
  const problems = checkPool(parsed.data, []);
  return hasErrors(problems) ? { ok: false, problems } : { ok: true, spec: parsed.data };
}
