import { z } from 'zod';
import { isJsonObject, type Json, type JsonObject } from '../model/json.js';
import { poolAccount } from '../model/names.js';
import { referencesIn } from '../model/node/result-table.js';
import type { Descriptor } from './descriptor.js';
import type { Path } from './problem.js';

type Declared = Pick<Descriptor, 'fields'>;

/**
 * A reference to a secret, allowed for any text and any secret field; resolved at use, on a worker of the
 * site.
 */
export const secretReferenceSchema = z
  .strictObject({
    secret: z
      .string()
      .regex(/^(env|file|exec|vault):\S/, { error: 'env:NAME, file:PATH, exec:COMMAND or vault:PATH#FIELD.' })
      .meta({ title: 'Secret', description: 'env:NAME, file:PATH, exec:COMMAND or vault:PATH#FIELD.' }),
  })
  .meta({
    title: 'Secret reference',
    description: '{secret: "env:NAME"}; also file:PATH, exec:COMMAND, vault:PATH#FIELD.',
  });

/** The administrator's fields whose secret references the plugin gets as they are. */
export function passedReferences({ fields }: Declared): readonly string[] {
  return Object.entries(fields?.admin ?? {}).flatMap(([key, field]) =>
    field.passReferences === true ? [key] : [],
  );
}

interface Account {
  readonly type: string;
  readonly fields: JsonObject;
}

/**
 * The references that may stand in `ssh-auth` of an account's nodes: those in its fields that the plugin gets as they
 * are. Nodes of pools are of any account.
 * @param accounts Those of this process's own heddle.yaml.
 * @param describe The plugin of a type; undefined if it is not installed.
 */
export function loginReferences(
  accounts: Readonly<Record<string, Account>>,
  name: string,
  describe: (type: string) => Declared | undefined,
): ReadonlySet<string> {
  const own = name === poolAccount ? Object.values(accounts) : [accounts[name]];
  return new Set(
    own.flatMap((account) => {
      const plugin = account === undefined ? undefined : describe(account.type);
      if (account === undefined || plugin === undefined) return [];
      return passedReferences(plugin).flatMap((key) => referencesAt(account.fields[key] ?? null));
    }),
  );
}

/** Places of references in a value that are not among these, or would be references without their other keys. */
export function foreignReferences(value: JsonObject, own: ReadonlySet<string>): readonly Path[] {
  return referencesIn(value).filter((path) => {
    const reference = secretReferenceSchema.safeParse(valueAt(value, path));
    return !reference.success || !own.has(reference.data.secret);
  });
}

function valueAt(value: Json, [first, ...rest]: Path): Json | undefined {
  if (first === undefined) return value;
  const item = Array.isArray(value)
    ? (value[Number(first)] as Json | undefined)
    : isJsonObject(value)
      ? value[first]
      : undefined;
  return item === undefined ? undefined : valueAt(item, rest);
}

function referencesAt(value: Json): readonly string[] {
  const reference = secretReferenceSchema.safeParse(value);
  if (reference.success) return [reference.data.secret];
  if (Array.isArray(value)) return value.flatMap((item: Json) => referencesAt(item));
  return isJsonObject(value) ? Object.values(value).flatMap(referencesAt) : [];
}
