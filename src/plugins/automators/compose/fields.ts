import { z } from 'zod';
import { fieldFault, parseFields, textValue } from '../../automator-fields.js';
import type { JsonObject } from '../../contract.js';

export const composeFile = 'compose.yaml';
export const dataFile = 'data';

/** Docker's and Podman's compose make names of containers, networks and volumes of it. */
const projectSchema = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]*$/, {
    error: 'must consist of lower-case letters, digits, hyphens and underscores',
  });

/**
 * Beside the compose file or in folders there; no path that leads elsewhere, nor a word that programs take
 * for an option.
 */
const fileName = z
  .string()
  .regex(/^(?!-)(?!.*(^|\/)\.\.?(\/|$))[\w.-]+(\/[\w.-]+)*$/, {
    error: 'is not a valid path of a file beside the compose file',
  })
  .refine((name) => name !== composeFile && name !== dataFile, {
    error: 'is set by Heddle itself; use another name',
  });

const fieldsSchema = z.object({
  file: z
    .string()
    .refine((text) => text.trim() !== '', { error: 'is empty' })
    .optional(),
  files: z.record(fileName, z.string()).optional(),
  environment: z
    .record(
      z
        .string()
        .regex(/^[A-Za-z_]\w*$/, { error: 'is not a valid variable name' })
        .refine((name) => !/^(HEDDLE|COMPOSE)_/.test(name), {
          error: 'is set by Heddle itself, as all HEDDLE_… and COMPOSE_… are; use another name',
        }),
      textValue,
    )
    .optional(),
  project: projectSchema.optional(),
  pull: z.enum(['missing', 'always']).default('missing'),
  wait: z.int().min(1).max(86_400).default(120),
  stopTimeout: z.int().min(0).max(3_600).default(10),
  volumes: z.boolean().default(false),
  run: z
    .strictObject({
      service: z.string().regex(/^[\w.][\w.-]*$/, { error: 'is not a valid service name' }),
      command: z.array(textValue).default([]),
    })
    .optional(),
  sudo: z.boolean().default(true),
});
export type ComposeFields = z.output<typeof fieldsSchema>;

/** @throws PluginError Invalid naming every wrong field. */
export function readFields(given: JsonObject): ComposeFields {
  const fields = parseFields('compose', fieldsSchema, given);
  const needless = (['files', 'environment'] as const).find((name) => fields[name] !== undefined);
  if (fields.file === undefined && needless !== undefined)
    throw fieldFault('compose', needless, 'requires file in the same action');
  return fields;
}
