import { isJsonObject, type Json, type JsonObject } from './json.js';

/**
 * `{secret: "env:NAME"}`, `file:PATH`, `exec:COMMAND WORDS…` or `vault:PATH#FIELD`; resolved by workers only.
 */
interface SecretReference extends JsonObject {
  readonly secret: string;
}

/** Who wrote a value with references, and its name in messages. */
export interface SecretOrigin {
  /** References of users are checked against `secrets.allow` whenever they are resolved. */
  readonly writtenBy: 'administrator' | 'user';
  /** Such as `providers.main.fields`. */
  readonly place: string;
  /** The field in which a reference was written; default: `place` and its path in the value. */
  readonly fieldOf?: ((reference: string) => string | undefined) | undefined;
  /** Who resolves it, for the remedy. Default: the workers. */
  readonly reader?: 'this computer';
}

/** A value whose references were replaced. */
export interface ResolvedSecrets {
  readonly value: Json;
  /** The resolved values, without duplicates; for the redactor. */
  readonly secrets: readonly string[];
}

type Place = readonly (string | number)[];

interface NamedSecret {
  readonly reference: string;
  readonly path: Place;
  /**
   * `mixed`: other keys stand beside `secret`, and once they are deleted it is a reference. `keyFile`: the
   * short form `keyFile: PATH` of `file:PATH`, which administrators and inventories write.
   */
  readonly form: 'reference' | 'mixed' | 'keyFile';
}

/** True for an object whose only key is `secret`, with a text. */
export function isSecretReference(value: unknown): value is SecretReference {
  return isJsonObject(value) && typeof value['secret'] === 'string' && Object.keys(value).length === 1;
}

/** Whether resolving it runs a program. */
export function isCommand(reference: string): boolean {
  return reference.startsWith('exec:');
}

/** Whether resolving it reads the environment or a file, and so has no effects and asks no server. */
export function isLocalSecret(reference: string): boolean {
  return /^(env|file):/.test(reference);
}

/** All references in a value, with their paths. */
export function findReferences(value: unknown): readonly NamedSecret[] {
  return [...namedSecrets(value)].filter(({ form }) => form === 'reference');
}

/**
 * All references in a value, and everything that would be one once its other keys are deleted. Results are
 * merged, so that a reference could otherwise be put together from two of them.
 */
export function possibleReferences(value: unknown): readonly NamedSecret[] {
  return [...namedSecrets(value)].filter(({ form }) => form !== 'keyFile');
}

/** The references in values of an administrator or an inventory; `keyFile: PATH` counts as one. */
export function writtenReferences(value: unknown): readonly NamedSecret[] {
  return [...namedSecrets(value)].filter(({ form }) => form !== 'mixed');
}

function* namedSecrets(value: unknown, path: Place = []): Generator<NamedSecret, void> {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) yield* namedSecrets(item, [...path, index]);
    return;
  }
  if (!isJsonObject(value)) return;
  for (const [key, item] of Object.entries(value)) {
    if (typeof item !== 'string') yield* namedSecrets(item, [...path, key]);
    else if (key === 'secret')
      yield { reference: item, path, form: isSecretReference(value) ? 'reference' : 'mixed' };
    else if (key === 'keyFile') yield { reference: `file:${item}`, path: [...path, key], form: 'keyFile' };
  }
}
