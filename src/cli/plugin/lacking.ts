import type { Descriptor } from '../../schema/descriptor.js';
import type { JsonObject } from '../../model/json.js';
import { findOnPath } from '../../server/find-binary.js';

/**
 * Programs that a plugin needs and that are not on PATH: those its descriptor names, and those
 * its fields name without a folder.
 * @param fields As heddle.yaml has them; defaults take the place of absent ones.
 */
export async function lackingPrograms(
  { needs, fields: declared }: Descriptor,
  path: string | undefined,
  fields: JsonObject = {},
): Promise<readonly string[]> {
  const named = Object.entries(declared?.admin ?? {}).flatMap(([key, field]) =>
    field.files === 'command' ? [fields[key] ?? field.default] : [],
  );
  const programs = [...needs, ...named].filter(
    (program): program is string => typeof program === 'string' && !program.includes('/'),
  );
  const found = await Promise.all(programs.map((program) => findOnPath(program, path)));
  return programs.filter((_, index) => found[index] === undefined);
}
