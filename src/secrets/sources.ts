import { constants } from 'node:fs';
import { open, readlink, realpath, stat, type FileHandle } from 'node:fs/promises';
import { resolve } from 'node:path';
import { isOwnCredential } from '../config/child-environment.js';
import { holdsCredentials, isUnprotected } from '../model/endpoint.js';
import { isPlainPath } from '../model/plain-path.js';
import { anySignal } from '../model/signals.js';
import { splitWords } from '../model/command-words.js';
import { refuseUntrusted } from '../schema/named-files.js';
import { runForOutput, type ReadLimits } from './command.js';

/** Where secrets come from; what a worker's configuration gives. */
export interface SecretSources {
  /** For `env:`, and for what `exec:` commands get of it. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Variables that commands of users' references get besides PATH, HOME and LANG; none unless given. */
  readonly commandVariables?: readonly string[];
  /** For `vault:`; absent where none is configured. */
  readonly vault?: VaultAccess;
  /** Longest wait for a command or for Vault, in ms; 10 s unless given. */
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

/** The environment, and the Vault that Vault's own variables name. */
export function secretSourcesOf({ environment }: Pick<SecretSources, 'environment'>): SecretSources {
  const { VAULT_ADDR: address, VAULT_TOKEN: token, VAULT_NAMESPACE: namespace } = environment;
  if (address === undefined || token === undefined) return { environment };
  return { environment, vault: { address, token, namespace } };
}

export const schemes = ['env', 'file', 'exec', 'vault'] as const;

const sizeLimit = 64 * 1024;
const defaultTimeoutMs = 10_000;

/** An administrator's file or program must be no other user's; a user's file must be one that users may read. */
interface Reader {
  readonly writtenBy: 'administrator' | 'user';
  /** Asked of the file that was opened. */
  readonly mayRead: (path: string) => boolean;
}

/** Reads one secret. Error messages hold names and paths, never the value. */
export async function readSecret(
  scheme: (typeof schemes)[number],
  rest: string,
  sources: SecretSources,
  { writtenBy, mayRead }: Reader,
): Promise<string> {
  const isAdministrators = writtenBy === 'administrator';
  if (scheme === 'env') return readVariable(rest, sources);
  if (scheme === 'file') {
    const secret = await readSecretFile(rest, mayRead);
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
    throw new Error(`${name} belongs to Heddle or Temporal and cannot be used as a secret of a cluster`);
  const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
  if (value === undefined || value === '')
    throw new Error(`the environment variable ${name} is not set for this worker`);
  return value;
}

function systemFile(path: string): Error {
  return new Error(`${path} belongs to the system, and keeps no secret`);
}

const systemFiles = /^\/(proc|sys|dev\/fd)(\/|$)/;

/** Files that were read before. Many tasks at once read the same key. */
const knownFiles = new Map<string, { readonly version: string; readonly content: string }>();

async function readSecretFile(path: string, mayRead: Reader['mayRead']): Promise<string> {
  // Files there show the worker's own environment, memory and open files, and count as regular ones.
  if (systemFiles.test(resolve(path))) throw systemFile(path);
  const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
  const version = [dev, ino, size, mtimeNs, ctimeNs].join(' ');
  const known = knownFiles.get(path);
  if (known?.version === version) return known.content;
  const content = await readNewFile(path, mayRead);
  knownFiles.set(path, { version, content });
  return content;
}

/** What was opened is what is checked and read: links on the way may change at any time. */
async function readNewFile(path: string, mayRead: Reader['mayRead']): Promise<string> {
  // A pipe without a writer would be waited for.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const real = await pathOf(file, path);
    if (systemFiles.test(real)) throw systemFile(path);
    if (!mayRead(real)) throw new Error(`${path} leads to a file that cluster files may not use`);
    const found = await file.stat();
    // A device has no end, and a pipe perhaps no beginning.
    if (!found.isFile()) throw new Error(`${path} is not a regular file`);
    if (found.size > sizeLimit) throw new Error(`${path} is larger than ${sizeLimit} bytes`);
    return withoutNewline(await file.readFile('utf8'), path);
  } finally {
    await file.close();
  }
}

/** Where an open file is. Only Linux tells; elsewhere its path is resolved once more. */
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
  if (program === undefined) throw new Error('no command is given');
  const { environment, commandVariables = [] } = sources;
  const granted = writtenBy === 'user' ? commandVariables : undefined;
  return withoutNewline(await runForOutput(words, { environment, granted, ...limitsOf(sources) }), program);
}

/** `PATH#FIELD`, with the path as the API has it: `secret/data/hetzner#token`. */
async function readVault(reference: string, sources: SecretSources): Promise<string> {
  const { vault } = sources;
  if (vault === undefined)
    throw new Error('no Vault is configured for this worker; give its address and token');
  if (isUnprotected(vault.address))
    throw new Error(
      'VAULT_ADDR must be https:// outside of this machine: the token would be readable on the way',
    );
  if (holdsCredentials(vault.address))
    throw new Error('VAULT_ADDR holds a user or a password; the token alone is sent');
  const [path = '', field = '', ...more] = reference.split('#');
  const isPath = path !== '' && !path.startsWith('/') && isPlainPath(path);
  if (field === '' || more.length > 0 || !isPath) throw new Error('expected is vault:MOUNT/data/PATH#FIELD');
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
  // A redirect would carry the token to wherever it points.
  const response = await fetch(url, { headers, redirect: 'error', signal: limit }).catch((cause: unknown) => {
    throw new Error(`Vault at ${url.origin} gave no answer: ${reasonOf(cause)}`, { cause });
  });
  if (response.status === 403)
    throw new Error(`Vault answered 403 for ${url.pathname}: the token may not read it, or has expired`);
  if (!response.ok) throw new Error(`Vault answered ${response.status} for ${url.pathname}`);
  return response.json().catch(() => {
    throw new Error(`Vault answered ${url.pathname} with something that is not JSON`); // Without its cause, which quotes the answer.
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

/** fetch hides the reason in the cause. */
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
  if (secret === '') throw new Error(`${origin} gives nothing`);
  return secret;
}
