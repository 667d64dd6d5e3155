import { isJsonObject, type JsonObject } from '../model/json.js';
import type { SshTarget } from '../ssh/target.js';
import { CliError } from './cli-error.js';

/**
 * How to log in to a node, by the conventional keys of its payload.
 * @throws CliError Failed when the node is not there yet: it has no address, or its host key is not known.
 */
export function readTarget(node: string, payload: JsonObject, auth: JsonObject): SshTarget {
  const host = payload['ipaddress'];
  const { user } = auth;
  const hostKey = readHostKey(payload);
  if (typeof host !== 'string' || typeof user !== 'string' || hostKey.length === 0) {
    throw new CliError('Refused', `nobody can log in to ${node} yet: its address, login or host key is not known before its CONFIRM is done`);
  }
  const port = payload['ssh-port'];
  const text = (key: string): string | undefined => (typeof auth[key] === 'string' ? auth[key] : undefined);
  const [password, privateKey, agent] = [text('password'), text('key'), text('agent')];
  return {
    host, user, hostKey, port: typeof port === 'number' ? port : 22,
    ...(password === undefined ? {} : { password }), ...(privateKey === undefined ? {} : { privateKey }), ...(agent === undefined ? {} : { agent }),
  };
}

/** What of a payload says how to log in. */
export function authOf(payload: JsonObject): JsonObject {
  const auth = payload['ssh-auth'];
  return isJsonObject(auth) ? auth : {};
}

function readHostKey(payload: JsonObject): readonly string[] {
  const hostKey = payload['ssh-host-key'];
  if (typeof hostKey === 'string') return [hostKey];
  return Array.isArray(hostKey) ? hostKey.filter((key) => typeof key === 'string') : [];
}
