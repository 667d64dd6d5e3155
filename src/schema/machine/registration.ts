import { z } from 'zod';
import type { Json } from '../../model/json.js';
import { parseImageRef } from '../../model/machine/image.js';
import { driftKinds } from '../../model/machine/intents.js';
import type { Registration } from '../../model/machine/state.js';
import { groupSchema, labelsSchema } from '../machine-tags.js';
import { foreignNameSchema, pluginNameSchema } from '../names.js';
import { errorAt, type Problem } from '../problem.js';
import { problemsFromZod } from '../zod-problems.js';

const nameRule = 'Lower-case letters, digits and hyphens; at most 50 characters.';
const text = z.string().min(1);
const port = z.int().min(1).max(65_535);
const referenceRule =
  'A reference that workers resolve: {secret: "file:PATH"}, env:NAME, exec:COMMAND or vault:PATH#FIELD. In a CSV table, use the column NAME.secret.';
const reference = z
  .strictObject({ secret: text.regex(/^(file|env|exec|vault):./).meta({ description: referenceRule }) })
  .meta({ description: referenceRule, writeOnly: true });
const imageRule = 'name, or name@revision, of letters, digits, dots, underscores and hyphens';

/**
 * An entry of an inventory file, as a registration reads it. Addresses, logins and controllers
 * belong to the provider account, whose workers validate them again.
 */
const entrySchema = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z0-9]([a-z0-9-]{0,48}[a-z0-9])?$/)
    .meta({ description: nameRule }),
  address: text.optional(),
  port: port.optional(),
  user: text.optional(),
  password: reference.optional(),
  key: reference.optional(),
  keyFile: text.optional(),
  agent: reference.optional(),
  hostKey: z.union([text, z.array(text).min(1)]).optional(),
  slots: z.int().min(1).optional(),
  controller: z
    .looseObject({ password: reference.optional(), port: port.optional() })
    .meta({ description: 'The management controller: host or url, user, password.' })
    .optional(),
  flavor: foreignNameSchema.optional(),
  image: foreignNameSchema.optional(),
  system: pluginNameSchema
    .meta({ description: 'The automator of its operating system; none for a machine without one.' })
    .optional(),
  defaultImage: z
    .string()
    .refine((written) => parseImageRef(written) !== undefined, {
      error: `is not a valid image: use ${imageRule}`,
    })
    .optional(),
  correct: z.array(z.enum(driftKinds)).optional(),
  /** In a CSV table, separated by blanks. */
  groups: z
    .union([z.array(groupSchema), z.string().transform(splitWords).pipe(z.array(groupSchema))])
    .optional(),
  labels: labelsSchema.optional(),
});

function splitWords(text: string): readonly string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}

/** A machine of an inventory file to register. */
export interface FileRegistration {
  readonly name: string;
  readonly registration: Registration;
}

export type RegistrationsReading =
  | { readonly ok: true; readonly machines: readonly FileRegistration[] }
  | { readonly ok: false; readonly problems: readonly Problem[] };

interface Entry {
  readonly value: Json;
  readonly line?: number;
}

/**
 * Validates the whole file. Each entry extends or overrides `defaults`, and names a machine of the account.
 */
export function readRegistrations(
  entries: readonly Entry[],
  file: string,
  defaults: Registration,
): RegistrationsReading {
  const problems: Problem[] = [];
  const lines = new Map<string, number | undefined>();
  const machines = entries.flatMap(({ value, line }, index): readonly FileRegistration[] => {
    const report = (found: readonly Problem[]): readonly never[] => {
      problems.push(
        ...found.map((problem) => ({
          ...problem,
          path: ['machines', index, ...problem.path],
          ...(line === undefined ? {} : { place: { file, line, column: 1 } }),
        })),
      );
      return [];
    };
    const parsed = entrySchema.safeParse(value);
    if (!parsed.success) return report(problemsFromZod(entrySchema, parsed.error, value));
    const { name, system, flavor, image, defaultImage, correct, groups, labels } = parsed.data;
    if (lines.has(name)) {
      const before = lines.get(name);
      const where = before === undefined ? 'is listed twice' : `is already listed in line ${before}`;
      return report([errorAt(['name'], `${name} ${where}`, 'Give each machine a unique name.')]);
    }
    lines.set(name, line);
    const registration: Registration = {
      ...defaults,
      fields: { ...defaults.fields, machine: name },
      ...(system === undefined ? {} : { system: system === 'none' ? null : system }),
      ...(flavor === undefined ? {} : { flavor }),
      ...(image === undefined ? {} : { image }),
      ...(defaultImage === undefined ? {} : { defaultImage: parseImageRef(defaultImage) }),
      ...(correct === undefined ? {} : { correct }),
      ...(groups === undefined ? {} : { groups }),
      ...(labels === undefined ? {} : { labels: { ...defaults.labels, ...labels } }),
    };
    return [{ name, registration }];
  });
  if (entries.length === 0)
    problems.push({
      ...errorAt([], 'has no machines', 'List them under machines: [...].'),
      place: { file, line: 1, column: 1 },
    });
  return problems.length > 0 ? { ok: false, problems } : { ok: true, machines };
}
