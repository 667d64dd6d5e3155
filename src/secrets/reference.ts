import { isJsonObject, type Json, type JsonObject } from '../model/json.js';
import { readSecret, schemes, type SecretSources } from './sources.js';

export type { SecretSources, VaultAccess } from './sources.js';

/** `{secret: "env:NAME"}`, `file:PATH`, `exec:COMMAND WORDS…` or `vault:PATH#FIELD`: stands for a value that only workers see. */
export interface SecretReference extends JsonObject {
  readonly secret: string;
}

export interface ResolvedSecrets {
  readonly value: Json;
  /** The values put in, each once; for the redactor. */
  readonly secrets: readonly string[];
}

/** A reference that cannot be resolved. The message names its place and scheme, never a value. */
export class SecretError extends Error {
  override readonly name = 'SecretError';
}

/** True for an object whose only key is `secret`, with a text. */
export function isSecretReference(value: Json | undefined): value is SecretReference {
  return isJsonObject(value) && typeof value.secret === 'string' && Object.keys(value).length === 1;
}

/**
 * A copy with every secret reference replaced by what it stands for. Nothing is kept between calls, so that a changed
 * secret is seen the next time; within one call each reference is read once.
 * @param place how messages name the value, for example `providers.main.fields`.
 * @throws SecretError
 */
export async function resolveSecrets(value: Json, sources: SecretSources, place = '$'): Promise<ResolvedSecrets> {
  const read = new Map<string, Promise<string>>();
  const resolve = async (reference: string, at: string): Promise<string> => {
    const scheme = schemeOf(reference, at);
    let secret = read.get(reference);
    if (secret === undefined) {
      secret = readSecret(scheme, reference.slice(scheme.length + 1), sources);
      read.set(reference, secret);
    }
    try {
      return await secret;
    } catch (cause) {
      throw new SecretError(`${at}: the secret (${scheme}:) cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    }
  };
  const resolved = await replaceReferences(value, place, resolve);
  const secrets = await Promise.all(read.values());
  return { value: resolved, secrets: [...new Set(secrets)] };
}

type Resolve = (reference: string, at: string) => Promise<string>;

async function replaceReferences(value: Json, at: string, resolve: Resolve): Promise<Json> {
  if (isSecretReference(value)) return resolve(value.secret, at);
  if (Array.isArray(value)) return Promise.all(value.map((item: Json, index) => replaceReferences(item, `${at}[${index}]`, resolve)));
  if (!isJsonObject(value)) return value;
  const entries = await Promise.all(Object.entries(value).map(async ([key, item]) => [key, await replaceReferences(item, `${at}.${key}`, resolve)] as const));
  return Object.fromEntries(entries);
}

/** The text is not quoted: who forgets the scheme has written the secret itself. */
function schemeOf(reference: string, at: string): (typeof schemes)[number] {
  const scheme = schemes.find((candidate) => reference.startsWith(`${candidate}:`));
  if (scheme !== undefined) return scheme;
  throw new SecretError(`${at}: 'secret' must say where the secret is: ${schemes.map((name) => `${name}:`).join(', ')}. It holds the secret itself, or an unknown scheme.`);
}
