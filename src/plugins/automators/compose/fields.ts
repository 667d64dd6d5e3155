import { z } from 'zod';
import type { JsonObject } from '../../../model/json.js';
import { PluginError } from '../../contract.js';

const value = z
  .union([z.string().regex(/^[^\0]*$/, { error: 'a text without zero bytes' }), z.number(), z.boolean()], {
    error: 'not a text, a number or true or false',
  })
  .transform(String);

export const composeFile = 'compose.yaml';
export const dataFile = 'data';

/** Docker's and Podman's compose make names of containers, networks and volumes of it. */
const projectSchema = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]*$/, { error: 'lower-case letters, digits, hyphens and underscores' });

/**
 * Beside the compose file or in folders there; nothing that leads elsewhere, nor a word that a program takes
 * for an option.
 */
const fileName = z
  .string()
  .regex(/^(?!-)(?!.*(^|\/)\.\.?(\/|$))[\w.-]+(\/[\w.-]+)*$/, {
    error: 'no name of a file beside the compose file',
  })
  .refine((name) => name !== composeFile && name !== dataFile, {
    error: `${composeFile} and ${dataFile} are set by Heddle itself; use another name`,
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
        .regex(/^[A-Za-z_]\w*$/, { error: 'no name of a variable' })
        .refine((name) => !/^(HEDDLE|COMPOSE)_/.test(name), {
          error: 'HEDDLE_… and COMPOSE_… are set by Heddle itself; use another name',
        }),
      value,
    )
    .optional(),
  project: projectSchema.optional(),
  pull: z.enum(['missing', 'always']).default('missing'),
  wait: z.int().min(1).max(86_400).default(120),
  stopTimeout: z.int().min(0).max(3_600).default(10),
  volumes: z.boolean().default(false),
  run: z
    .strictObject({
      service: z.string().regex(/^[\w.][\w.-]*$/, { error: 'no name of a service' }),
      command: z.array(value).default([]),
    })
    .optional(),
  sudo: z.boolean().default(true),
});
export type ComposeFields = z.output<typeof fieldsSchema>;

/**
 * @throws PluginError Invalid that names every wrong field; values are not quoted, for they may be secret.
 */
export function readFields(fields: JsonObject): ComposeFields {
  const parsed = fieldsSchema.safeParse(fields);
  if (!parsed.success) {
    // What is wrong with a key stands one level deeper.
    throw invalid(
      parsed.error.issues
        .map(
          (issue) =>
            `${issue.path.map(String).join('.')}: ${issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? issue.message) : issue.message}`,
        )
        .join('; '),
    );
  }
  const { file, files, environment } = parsed.data;
  if (file === undefined && (files ?? environment) !== undefined)
    throw invalid(
      `${files === undefined ? 'environment' : 'files'}: belongs to a compose file: give file in the same action`,
    );
  return parsed.data;
}

export function invalid(faults: string): PluginError {
  return new PluginError('Invalid', `automator compose: wrong fields: ${faults}`);
}
