import { z } from 'zod';
import { recipeGroup, type ImageSpec } from '../../model/image/spec.js';
import { closedSpecSchema } from '../closed-spec.js';
import {
  clusterNameSchema,
  foreignNameSchema,
  nodeIdSchema,
  pluginNameSchema,
  simpleNameSchema,
} from '../names.js';
import { maxSpecBytes, maxSpecDepth, parseSpec } from '../parse-spec.js';
import { copyPlainJson, isPlainObject } from '../plain-json.js';
import { errorAt, type Problem } from '../problem.js';
import { fieldsSchema } from '../any-fields.js';
import { problemsFromZod } from '../zod-problems.js';
import { checkImage } from './check.js';
import type { ImageReading } from './read.js';
import { environmentSchema, formatSchema } from './written.js';

const milliseconds = z.int().min(1);

const source = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('recipe'),
    cluster: closedSpecSchema,
    system: pluginNameSchema.nullable(),
    from: z
      .strictObject({ of: z.enum(['cluster', 'pool']), name: simpleNameSchema, node: nodeIdSchema })
      .exactOptional(),
  }),
  z.strictObject({
    kind: z.literal('command'),
    command: simpleNameSchema,
    environment: environmentSchema,
    formats: z.array(formatSchema).min(1).max(10),
    timeoutMs: milliseconds.exactOptional(),
    site: simpleNameSchema,
  }),
]);

/** An image that was closed before: what a client sends to the image's workflow. */
const closedImageSchema = z.strictObject({
  name: clusterNameSchema,
  source,
  uploads: z.array(z.strictObject({ provider: simpleNameSchema, format: formatSchema })).max(50),
  validate: z
    .strictObject({
      provider: simpleNameSchema,
      hardware: foreignNameSchema,
      fields: fieldsSchema,
      command: z.string().min(1).exactOptional(),
      withinMs: milliseconds,
    })
    .exactOptional(),
  keep: z.int().min(1).max(100),
  rebuildAgeMs: milliseconds.exactOptional(),
}) satisfies z.ZodType<ImageSpec>;

/** Checks an image of unknown make, as it reaches the activity CHECK_IMAGE. */
export function parseImage(value: unknown): ImageReading {
  const plain = copyPlainJson(value, { bytes: maxSpecBytes, depth: maxSpecDepth });
  if (!plain.ok) return plain;
  if (!isPlainObject(plain.value))
    return { ok: false, problems: [errorAt([], 'an image is a mapping with name and source')] };
  const parsed = closedImageSchema.safeParse(plain.value);
  if (!parsed.success)
    return { ok: false, problems: problemsFromZod(closedImageSchema, parsed.error, plain.value) };
  const problems = [...checkRecipe(parsed.data), ...checkImage(parsed.data)];
  return problems.length > 0 ? { ok: false, problems } : { ok: true, spec: parsed.data };
}

function checkRecipe({ name, source: made }: ImageSpec): readonly Problem[] {
  if (made.kind === 'command') return [];
  const { cluster } = made;
  const group = cluster.groups[recipeGroup];
  if (group?.count !== 1 || Object.keys(cluster.groups).length !== 1 || cluster.name !== name)
    return [errorAt(['source', 'cluster'], `is no cluster ${name} of one node in group ${recipeGroup}`)];
  const reading = parseSpec(cluster);
  return reading.ok ? [] : reading.problems;
}
