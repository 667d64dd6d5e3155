import { isJsonObject, type Json } from '../model/json.js';
import {
  findReferences,
  isSecretReference,
  type ResolvedSecrets,
  type SecretOrigin,
} from '../model/secret-reference.js';
import { readSecret, schemes, type SecretSources } from './sources.js';

export { secretSourcesOf, type SecretSources } from './sources.js';

/**
 * Whether users may use a reference such as `file:/etc/app/token`. With the path of the opened file, also
 * whether that file may be read: a link of the path may have changed since the reference was checked.
 */
export type AllowReference = (reference: string, opened?: string) => boolean;

/** Who wrote references, with those that a user may use. */
export type ReferenceWriter =
  | { readonly writtenBy: 'administrator' }
  | { readonly writtenBy: 'user'; readonly allows: AllowReference };

export type LimitedOrigin = SecretOrigin & ReferenceWriter;

/** A reference that cannot be resolved. The message names its place and scheme, never a value. */
export class SecretError extends Error {
  override readonly name = 'SecretError';
  readonly remedy: string | undefined;

  constructor(message: string, options: { readonly cause?: unknown; readonly remedy?: string } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.remedy = options.remedy;
  }
}

/**
 * Resolves every secret reference in a copy of the value. Nothing is cached between calls; one call reads
 * each reference once. @throws SecretError, also for a user's forbidden reference, before anything is read.
 */
export async function resolveSecrets(
  value: Json,
  sources: SecretSources,
  origin: LimitedOrigin,
): Promise<ResolvedSecrets> {
  const { place, writtenBy, reader = 'the workers' } = origin;
  if (origin.writtenBy === 'user') refuseForbidden(value, place, origin.allows);
  const read = new Map<string, Promise<string>>();
  const resolve = async (reference: string, at: string): Promise<string> => {
    const scheme = schemeOf(reference, at);
    let secret = read.get(reference);
    if (secret === undefined) {
      secret = readSecret(scheme, reference.slice(scheme.length + 1), sources, {
        writtenBy,
        mayRead: (path) => origin.writtenBy === 'administrator' || origin.allows(reference, path),
      });
      read.set(reference, secret);
    }
    try {
      return await secret;
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      const field = origin.fieldOf?.(reference) ?? at;
      throw new SecretError(`${field}: the secret (${scheme}:) cannot be read: ${why}`, {
        cause,
        remedy: `provide the secret to ${reader}, or correct ${field}`,
      });
    }
  };
  const resolved = await replaceReferences(value, place, resolve);
  const secrets = await Promise.all(read.values());
  return { value: resolved, secrets: [...new Set(secrets)] };
}

/** Does not quote the reference, which may contain the secret itself. */
function refuseForbidden(value: Json, place: string, allows: AllowReference): void {
  const [path] = forbiddenReferences(value, allows);
  if (path === undefined) return;
  const at = [place, ...path].join('.');
  throw new SecretError(
    `${at} refers to a secret that cluster files may not use; ` +
      'secrets.allow in heddle.yaml of the worker lists the allowed references',
  );
}

/** Paths of the references in a value that are not allowed. */
export function forbiddenReferences(
  value: Json,
  allows: AllowReference,
): readonly (readonly (string | number)[])[] {
  return findReferences(value).flatMap(({ reference, path }) => (allows(reference) ? [] : [path]));
}

type Resolve = (reference: string, at: string) => Promise<string>;

async function replaceReferences(value: Json, at: string, resolve: Resolve): Promise<Json> {
  if (isSecretReference(value)) return resolve(value.secret, at);
  if (Array.isArray(value))
    return Promise.all(value.map((item: Json, index) => replaceReferences(item, `${at}[${index}]`, resolve)));
  if (!isJsonObject(value)) return value;
  const entries = await Promise.all(
    Object.entries(value).map(
      async ([key, item]) => [key, await replaceReferences(item, `${at}.${key}`, resolve)] as const,
    ),
  );
  return Object.fromEntries(entries);
}

/** Does not quote the text, which may be the secret itself without a scheme. */
function schemeOf(reference: string, at: string): (typeof schemes)[number] {
  const scheme = schemes.find((candidate) => reference.startsWith(`${candidate}:`));
  if (scheme !== undefined) return scheme;
  throw new SecretError(
    `${at}: 'secret' must be a reference that begins with ${schemes.map((name) => `${name}:`).join(', ')}. It contains the secret itself, or an unknown scheme.`,
  );
}
