import type { Config } from '../config/index.js';
import { isJsonObject, type Json, type JsonObject } from '../model/json.js';
import { machineOf } from '../model/names.js';
import {
  findReferences,
  isCommand,
  possibleReferences,
  type SecretOrigin,
} from '../model/secret-reference.js';
import { refuseUntrusted } from '../schema/named-files.js';
import { resolveSecrets } from '../secrets/reference.js';
import type { SshTarget } from '../ssh/target.js';
import { CliError } from './errors.js';

/** The known parts of the login to a node, with secrets resolved. */
export interface Login {
  readonly payload: JsonObject;
  readonly auth: JsonObject;
  /** The account's jump host, as heddle.yaml has it. */
  readonly jump?: JsonObject;
  /** Its host key need not be known: the first login shows it. */
  readonly mayPin?: boolean;
}

/**
 * How to log in to a node, by the conventional keys of its payload.
 * @throws CliError Refused if the node is not ready yet: its address or host key is unknown.
 */
export function readTarget(node: string, { payload, auth, jump, mayPin = false }: Login): SshTarget {
  const host = payload['ipaddress'];
  const { user } = auth;
  const hostKey = readHostKey(payload['ssh-host-key']);
  if (typeof host !== 'string' || typeof user !== 'string' || (hostKey.length === 0 && !mayPin)) {
    throw new CliError(
      'Refused',
      `login to ${node} is not possible yet: its address, login or host key is unknown until its CONFIRM is done`,
    );
  }
  const port = payload['ssh-port'];
  return {
    host,
    user,
    hostKey,
    port: typeof port === 'number' ? port : 22,
    ...credentialsOf(auth),
    jump: jump === undefined ? undefined : readJump(node, jump),
  };
}

function readJump(node: string, jump: JsonObject): SshTarget & { readonly hostKey: readonly string[] } {
  const { host, port, user } = jump;
  const hostKey = readHostKey(jump['hostKey']);
  // heddle.yaml was checked, so only a resolved secret can be malformed.
  if (typeof host !== 'string' || typeof user !== 'string' || hostKey.length === 0)
    throw new CliError('Invalid', `the jump host on the way to ${node} needs host, user and hostKey`);
  return { host, user, hostKey, port: typeof port === 'number' ? port : 22, ...credentialsOf(jump) };
}

function credentialsOf(source: JsonObject): Pick<SshTarget, 'password' | 'privateKey' | 'agent'> {
  const text = (key: string): string | undefined =>
    typeof source[key] === 'string' ? source[key] : undefined;
  const [password, privateKey, agent] = [text('password'), text('key'), text('agent')];
  return { password, privateKey, agent };
}

/** The keys of a payload that say how to log in. */
export function authOf(payload: JsonObject): JsonObject {
  const auth = payload['ssh-auth'];
  return isJsonObject(auth) ? auth : {};
}

function readHostKey(hostKey: Json | undefined): readonly string[] {
  if (typeof hostKey === 'string') return [hostKey];
  return Array.isArray(hostKey) ? hostKey.filter((key) => typeof key === 'string') : [];
}

/**
 * How to reach a node of an account and log in, with the secrets of both resolved.
 * @throws CliError Refused as {@link readTarget} and {@link resolveLogin} do.
 */
export async function findTarget(
  config: Config,
  {
    node,
    account,
    payload,
    mayPin,
  }: {
    readonly node: string;
    readonly account: string;
    readonly payload: JsonObject;
    readonly mayPin?: boolean;
  },
): Promise<SshTarget> {
  const auth = await resolveLogin(config, {
    node,
    machine: machineOf(payload),
    account,
    auth: authOf(payload),
  });
  const jump = config.providers[account]?.jump;
  if (jump === undefined) return readTarget(node, { payload, auth, mayPin });
  refuseUntrusted(
    'socket',
    jump['agent'],
    (why) => new CliError('Invalid', `the agent for the jump host: ${why}`),
  );
  const { jumpOrigin, jumpSecrets } = await import('../plugins/login-references.js');
  const way = await resolveHere(config, jump, jumpSecrets(account, jump));
  const target = readTarget(node, { payload, auth, mayPin, jump: way });
  return { ...target, jump: target.jump && { ...target.jump, origin: jumpOrigin(account) } };
}

type LoginConfig = Pick<Config, 'environment' | 'providers' | 'plugins' | 'programs'>;

interface KnownLogin {
  readonly node: string;
  /** The name of its machine, for messages. */
  readonly machine?: string | undefined;
  /** Name of the node's provider account. */
  readonly account: string;
  readonly auth: JsonObject;
}

/**
 * Resolves the secret references of a login, but only those in the account's fields in the heddle.yaml of
 * this computer, or in its inventory: any other comes from a node, a plugin or another configuration.
 * @throws CliError Refused.
 */
export async function resolveLogin(
  config: LoginConfig,
  { node, machine, account, auth }: KnownLogin,
): Promise<JsonObject> {
  const { providers } = config;
  if (possibleReferences(auth).length === 0) return auth;
  const [{ inspectPlugins }, { loginReferences }, { fieldOf, foreignReferences }] = await Promise.all([
    import('./inspect-plugins.js'),
    import('../plugins/login-references.js'),
    import('../schema/references.js'),
  ]);
  const own = await loginReferences(providers, account, (await inspectPlugins(config)).providers());
  const place = `ssh-auth of ${node}`;
  if (foreignReferences(auth, own).length > 0) {
    const cause = own.incomplete;
    if (cause !== undefined) throw new CliError('Refused', `${place}: ${cause.message}`, { cause });
    throw new CliError(
      'Refused',
      `${place} holds a secret reference that is neither in the fields of provider ${account} in the heddle.yaml of this computer nor in the inventory that they name, so it is not resolved`,
    );
  }
  return resolveHere(config, auth, { place, fieldOf: (reference) => fieldOf(own, reference, machine) });
}

/** Opening a session must not run any program other than SSH. @throws CliError Refused for `exec:`. */
async function resolveHere(
  { environment }: Pick<Config, 'environment'>,
  written: JsonObject,
  { place, fieldOf }: Pick<SecretOrigin, 'place' | 'fieldOf'>,
): Promise<JsonObject> {
  const command = findReferences(written).find(({ reference }) => isCommand(reference))?.reference;
  if (command !== undefined)
    throw new CliError(
      'Refused',
      `${fieldOf?.(command) ?? place} is the output of a program (exec:), which this command does not run: use file: or env: in heddle.yaml, or heddle exec, which runs on a worker`,
    );
  const { value } = await resolveSecrets(
    written,
    { environment },
    { writtenBy: 'administrator', place, fieldOf, reader: 'this computer' },
  );
  return isJsonObject(value) ? value : {};
}
