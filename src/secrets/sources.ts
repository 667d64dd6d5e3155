import { readlink, realpath, stat, type FileHandle } from 'node:fs/promises';
import { resolve } from 'node:path';
import { isOwnCredential } from '../config/child-environment.js';
import { holdsCredentials, isUnprotected } from '../model/endpoint.js';
import { isPlainPath } from '../model/plain-path.js';
import { anySignal } from '../model/signals.js';
import { splitWords } from '../model/command-words.js';
import { isSystemError } from '../model/system-error.js';
import { refuseUntrusted } from '../schema/named-files.js';
import { openFile, wordsForFileError } from '../schema/read-text.js';
import { runForOutput, type ReadLimits } from './command.js';

/** Sources of secrets, from a worker's configuration. */
export interface SecretSources {
  /** For `env:`, and for the environment of `exec:` commands. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /**
   * Variables that are passed to commands of users' references in addition to PATH, HOME and LANG. Default:
   * none.
   */
  readonly commandVariables?: readonly string[];
  /** For `vault:`; absent if none is configured. */
  readonly vault?: VaultAccess;
  /** Timeout of a command or of Vault, in ms. Default: 10 s. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** HashiCorp Vault, or OpenBao, with a KV version 2 engine. */
interface VaultAccess {
  /** For example `https://vault.example.com:8200`. */
  readonly address: string;
  readonly token: string;
  /** Vault Enterprise's namespace. */
  readonly namespace?: string;
}

/** The environment, and the Vault server of the VAULT_ variables. */
export function secretSourcesOf({ environment }: Pick<SecretSources, 'environment'>): SecretSources {
  const { VAULT_ADDR: address, VAULT_TOKEN: token, VAULT_NAMESPACE: namespace } = environment;
  if (address === undefined || token === undefined) return { environment };
  return { environment, vault: { address, token, namespace } };
}

export const schemes = ['env', 'file', 'exec', 'vault'] as const;

const sizeLimit = 64 * 1024;
const defaultTimeoutMs = 10_000;

/**
 * An administrator's file or program must not belong to another user; a user's file must be readable for
 * users.
 */
interface Reader {
  readonly writtenBy: 'administrator' | 'user';
  /** Called with the path of the opened file. */
  readonly mayRead: (path: string) => boolean;
}

/** Reads one secret. Error messages contain names and paths, never the value. */
export async function readSecret(
  scheme: (typeof schemes)[number],
  rest: string,
  sources: SecretSources,
  { writtenBy, mayRead }: Reader,
): Promise<string> {
  const isAdministrators = writtenBy === 'administrator';
  if (scheme === 'env') return readVariable(rest, sources);
  if (scheme === 'file') {
    const secret = await readSecretFile(rest, mayRead).catch((error: unknown) => {
      throw isSystemError(error)
        ? new Error(`${rest}: ${wordsForFileError(error)}`, { cause: error })
        : error;
    });
    if (isAdministrators) refuseUntrusted('file', rest);
    return secret;
  }
  if (scheme === 'exec') {
    if (isAdministrators) refuseUntrusted('command', splitWords(rest));
    return readCommand(rest, sources, writtenBy);
  }
  return readVault(rest, sources);
}

async function readVariable(name: string, { environment }: SecretSources): Promise<string> {
  if (isOwnCredential(name))
    throw new Error(`${name} is reserved for Heddle or Temporal and cannot be used as a secret`);
  const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
  if (value === undefined || value === '')
    throw new Error(`the environment variable ${name} is not set for this worker`);
  return value;
}

function systemFile(path: string): Error {
  return new Error(`${path} is a system file, which cannot be used as a secret`);
}

const systemFiles = /^\/(proc|sys|dev\/fd)(\/|$)/;

/** Cache of files: many concurrent tasks read the same key. */
const knownFiles = new Map<string, { readonly version: string; readonly content: string }>();

async function readSecretFile(path: string, mayRead: Reader['mayRead']): Promise<string> {
  // System files expose the worker's own environment, memory and open files, and count as regular files.
  if (systemFiles.test(resolve(path))) throw systemFile(path);
  const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
  const version = [dev, ino, size, mtimeNs, ctimeNs].join(' ');
  const known = knownFiles.get(path);
  if (known?.version === version) return known.content;
  const content = await readNewFile(path, mayRead);
  knownFiles.set(path, { version, content });
  return content;
}

/** Checks and reads the opened file itself: links of the path may change at any time. */
async function readNewFile(path: string, mayRead: Reader['mayRead']): Promise<string> {
  const file = await openFile(path);
  try {
    const real = await pathOf(file, path);
    if (systemFiles.test(real)) throw systemFile(path);
    if (!mayRead(real)) throw new Error(`${path} leads to a file that cluster files may not read`);
    const found = await file.stat();
    if (!found.isFile()) throw new Error(`${path} is not a regular file`);
    if (found.size > sizeLimit) throw new Error(`${path} is larger than ${sizeLimit} bytes`);
    return withoutNewline(await file.readFile('utf8'), path);
  } finally {
    await file.close();
  }
}

/** The path of an open file. Only Linux reports it; on other systems the path is resolved again. */
async function pathOf({ fd }: FileHandle, path: string): Promise<string> {
  if (process.platform !== 'linux') return realpath(path);
  return (await readlink(`/proc/self/fd/${fd}`)).replace(/ \(deleted\)$/, '');
}

async function readCommand(
  line: string,
  sources: SecretSources,
  writtenBy: 'administrator' | 'user',
): Promise<string> {
  const words = splitWords(line);
  const [program] = words;
  if (program === undefined) throw new Error('the command is missing');
  const { environment, commandVariables = [] } = sources;
  const granted = writtenBy === 'user' ? commandVariables : undefined;
  return withoutNewline(await runForOutput(words, { environment, granted, ...limitsOf(sources) }), program);
}

/** `PATH#FIELD`, with the path of the API: `secret/data/hetzner#token`. */
async function readVault(reference: string, sources: SecretSources): Promise<string> {
  const { vault } = sources;
  if (vault === undefined)
    throw new Error('no Vault is configured for this worker; set VAULT_ADDR and VAULT_TOKEN');
  if (isUnprotected(vault.address))
    throw new Error(
      'VAULT_ADDR must be https:// for other machines: otherwise the token would be sent unencrypted',
    );
  if (holdsCredentials(vault.address))
    throw new Error('VAULT_ADDR contains a user or a password, which is not supported; remove it');
  const [path = '', field = '', ...more] = reference.split('#');
  const isPath = path !== '' && !path.startsWith('/') && isPlainPath(path);
  if (field === '' || more.length > 0 || !isPath)
    throw new Error('the reference must be vault:MOUNT/data/PATH#FIELD');
  const url = new URL(`/v1/${path.split('/').map(encodeURIComponent).join('/')}`, vault.address);
  const value = fieldOf(await askVault(url, vault, limitsOf(sources)), field);
  if (value === undefined)
    throw new Error(
      `${path} has no text field ${field}; with KV version 2 the path has /data/ after the mount`,
    );
  return value;
}

async function askVault(
  url: URL,
  { token, namespace }: VaultAccess,
  { timeoutMs, signal }: ReadLimits,
): Promise<unknown> {
  const headers = {
    'X-Vault-Token': token,
    ...(namespace === undefined ? {} : { 'X-Vault-Namespace': namespace }),
  };
  const limit = anySignal([AbortSignal.timeout(timeoutMs), ...(signal === undefined ? [] : [signal])]);
  // A redirect would send the token to another host.
  const response = await fetch(url, { headers, redirect: 'error', signal: limit }).catch((cause: unknown) => {
    throw new Error(`Vault at ${url.origin} does not answer: ${reasonOf(cause)}`, { cause });
  });
  if (response.status === 403)
    throw new Error(`Vault returned 403 for ${url.pathname}: the token has no permission, or has expired`);
  if (!response.ok) throw new Error(`Vault returned ${response.status} for ${url.pathname}`);
  return response.json().catch(() => {
    throw new Error(`Vault returned no JSON for ${url.pathname}`); // Without its cause, which quotes the response.
  });
}

function fieldOf(body: unknown, field: string): string | undefined {
  let value = body;
  for (const key of ['data', 'data', field]) {
    if (!isRecord(value) || !Object.hasOwn(value, key)) return undefined;
    value = value[key];
  }
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** The reason of a `fetch` error is in its cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}

function limitsOf({ timeoutMs = defaultTimeoutMs, signal }: SecretSources): ReadLimits {
  return { timeoutMs, signal };
}

/** Editors and `echo` append a newline that is not part of the secret. */
function withoutNewline(text: string, origin: string): string {
  const secret = text.replace(/\r?\n$/, '');
  if (secret === '') throw new Error(`${origin} provides no value`);
  return secret;
}
