import { isJsonObject, type Json, type JsonObject } from '../../model/json.js';
import type { SshTarget } from '../../ssh/target.js';
import { CliError } from '../cli-error.js';

/** What is known of the login to a node, its secrets resolved. */
export interface Login {
  readonly payload: JsonObject;
  readonly auth: JsonObject;
  /** The account's jump host, as heddle.yaml has it. */
  readonly jump?: JsonObject;
}

/**
 * How to log in to a node, by the conventional keys of its payload.
 * @throws CliError Refused when the node is not there yet: it has no address, or its host key is not known.
 */
export function readTarget(node: string, { payload, auth, jump }: Login): SshTarget {
  const host = payload['ipaddress'];
  const { user } = auth;
  const hostKey = readHostKey(payload['ssh-host-key']);
  if (typeof host !== 'string' || typeof user !== 'string' || hostKey.length === 0) {
    throw new CliError(
      'Refused',
      `nobody can log in to ${node} yet: its address, login or host key is not known before its CONFIRM is done`,
    );
  }
  const port = payload['ssh-port'];
  return {
    host,
    user,
    hostKey,
    port: typeof port === 'number' ? port : 22,
    ...credentialsOf(auth),
    ...(jump === undefined ? {} : { jump: readJump(node, jump) }),
  };
}

function readJump(node: string, jump: JsonObject): SshTarget & { readonly hostKey: readonly string[] } {
  const { host, port, user } = jump;
  const hostKey = readHostKey(jump['hostKey']);
  // heddle.yaml was checked; only what a secret brought could be anything else.
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

/** What of a payload says how to log in. */
export function authOf(payload: JsonObject): JsonObject {
  const auth = payload['ssh-auth'];
  return isJsonObject(auth) ? auth : {};
}

function readHostKey(hostKey: Json | undefined): readonly string[] {
  if (typeof hostKey === 'string') return [hostKey];
  return Array.isArray(hostKey) ? hostKey.filter((key) => typeof key === 'string') : [];
}
