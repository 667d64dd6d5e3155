import { z } from 'zod';
import type { JsonObject } from '../../../model/json.js';
import { nameOfLength, parseFields, requireUniqueNames, text } from '../../provider-base/fields.js';

const command = z.array(z.string()).min(1);

const resourceSchema = z.strictObject({
  name: nameOfLength(63),
  flavor: text.optional(),
  environment: z
    .record(
      z
        .string()
        .regex(/^(?!HEDDLE_)[A-Za-z_]\w*$/, {
          error: 'must be the name of an environment variable that is not reserved by Heddle',
        }),
      z.union([z.string(), z.number()]).transform(String),
    )
    .default({}),
});
export type Resource = z.output<typeof resourceSchema>;

const programsSchema = z.strictObject({
  /** Whether it takes orders now. */
  reach: command,
  /** Prints the image that it has. */
  current: command,
  /** Writes what it is into a file. */
  capture: command,
  /** Loads the content of a file. */
  load: command,
  /** Whether its content equals its image. */
  check: command.optional(),
  /** Notes that a user logged in. */
  taint: command.optional(),
});
export type Programs = z.output<typeof programsSchema>;

/**
 * @throws PluginError Invalid that names every wrong place; values are not quoted, for they may be secret.
 */
export function readResources(fields: JsonObject, provider: string): readonly Resource[] {
  const resources = parseFields(
    z.array(resourceSchema).min(1),
    fields['resources'],
    `resources of provider ${provider}`,
  );
  requireUniqueNames(resources, provider);
  return resources;
}

export function readPrograms(fields: JsonObject, provider: string): Programs {
  return parseFields(programsSchema, fields['programs'], `programs of provider ${provider}`);
}

export function readFolder(fields: JsonObject, provider: string): string {
  return parseFields(
    z.string().regex(/^\//, { error: 'must be an absolute path' }),
    fields['folder'],
    `folder of provider ${provider}`,
  );
}
