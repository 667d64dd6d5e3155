import { z } from 'zod';
import type { Json, JsonObject } from '../model/json.js';
import { possibleReferences, writtenReferences } from '../model/secret-reference.js';
import type { PluginError } from '../plugins/errors.js';
import type { Descriptor } from './descriptor.js';
import type { Path } from './problem.js';

type Declared = Pick<Descriptor, 'fields'>;

export const referenceRule = 'Must be env:NAME, file:PATH, exec:COMMAND or vault:PATH#FIELD.';

/**
 * A reference to a secret, allowed in every text field and secret field. A worker of the site
 * resolves it at use.
 */
export const secretReferenceSchema = z
  .strictObject({
    secret: z
      .string()
      .regex(/^(env|file|exec|vault):\S/, { error: referenceRule })
      .meta({ title: 'Secret', description: 'env:NAME, file:PATH, exec:COMMAND or vault:PATH#FIELD.' }),
  })
  .meta({
    title: 'Secret reference',
    description: '{secret: "env:NAME"}; also file:PATH, exec:COMMAND, vault:PATH#FIELD.',
  });

/** Whether a value is a reference with a known scheme. Without one, it may contain the secret itself. */
export function isValidReference(value: Json): boolean {
  return secretReferenceSchema.safeParse(value).success;
}

/** The administrator's fields whose secret references are passed to the plugin unresolved. */
export function passedReferences({ fields }: Declared): readonly string[] {
  return Object.entries(fields?.admin ?? {}).flatMap(([key, field]) =>
    field.passReferences === true ? [key] : [],
  );
}

/** The references in these fields that are passed to the plugin unresolved; `keyFile: PATH` counts as one. */
export function referencesOfFields(
  plugin: Declared,
  fields: JsonObject,
): ReturnType<typeof writtenReferences> {
  const passed = ['keyFile', ...passedReferences(plugin)];
  return writtenReferences(
    Object.fromEntries(Object.entries(fields).filter(([key]) => passed.includes(key))),
  );
}

interface NamedInventory {
  readonly file: string;
  readonly groups?: readonly string[];
}

/**
 * The inventory files that these fields name, whose references are passed to the plugin
 * unresolved; of an Ansible inventory only those of the account's `groups`.
 */
export function inventoriesOf({ fields: declared }: Declared, fields: JsonObject): readonly NamedInventory[] {
  const { groups: named } = fields;
  const groups = Array.isArray(named)
    ? { groups: named.filter((name: Json) => typeof name === 'string') }
    : {};
  return Object.entries(declared?.admin ?? {}).flatMap(([key, { passReferences }]) => {
    const file = fields[key];
    return passReferences === 'inventory' && typeof file === 'string' ? [{ file, ...groups }] : [];
  });
}

/** Where an administrator wrote a reference. */
export interface WrittenPlace {
  /** Its field, such as `keyFile of machine b1 of provider rack in heddle.yaml`. */
  readonly field: string;
  /** The name of its machine, if it has one. */
  readonly machine?: string;
}

/** The references that an account's plugin may return in `ssh-auth`. */
export interface OwnReferences {
  readonly references: ReadonlyMap<string, readonly WrittenPlace[]>;
  /**
   * Why the set may be incomplete: an inventory cannot be read, in part or as a whole, or is being changed.
   */
  readonly incomplete?: PluginError;
}

/** The field in which a reference of a machine was written; undefined for a foreign reference. */
export function fieldOf(
  { references }: OwnReferences,
  reference: string,
  machine: string | undefined,
): string | undefined {
  const places = references.get(reference);
  return (places?.find((place) => place.machine === machine) ?? places?.[0])?.field;
}

/**
 * Paths of references in a value that are not among these, or that would be references without
 * their other keys.
 */
export function foreignReferences(value: JsonObject, { references }: OwnReferences): readonly Path[] {
  return possibleReferences(value).flatMap(({ reference, form, path }) =>
    form === 'reference' && references.has(reference) ? [] : [path],
  );
}
