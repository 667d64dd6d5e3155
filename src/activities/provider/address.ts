import { isJsonObject, type JsonObject } from '../../model/json.js';
import { PluginError } from '../../plugins/errors.js';
import type { Attempt } from '../attempt.js';
import type { ActivityParts, NodeAddress } from '../parts.js';

/**
 * How to reach a node, by the conventional keys of its payload.
 * @throws PluginError Invalid naming the key that is missing or malformed.
 */
export function readAddress(config: JsonObject, plugin: string): NodeAddress {
  const host = config['ipaddress'];
  if (typeof host !== 'string' || host === '' || host === '0.0.0.0' || host === '::') {
    throw new PluginError('Invalid', `plugin ${plugin} gave no usable ipaddress (${JSON.stringify(host) ?? 'none'}); CONFIRM must leave one, or say NotReady`);
  }
  const port = config['ssh-port'] ?? 22;
  if (typeof port !== 'number' || !Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new PluginError('Invalid', `ssh-port of the node is ${JSON.stringify(port)}; it must be a number from 1 to 65535`);
  }
  const auth = config['ssh-auth'];
  if (!isJsonObject(auth) || typeof auth['user'] !== 'string' || auth['user'] === '') {
    throw new PluginError('Invalid', 'the node has no ssh-auth.user; CREATE or CONFIRM must leave it');
  }
  const hostKey = hostKeyOf(config['ssh-host-key']);
  return { host, port, user: auth['user'], ...credentialsOf(auth), ...(hostKey === undefined ? {} : { hostKey }) };
}

/**
 * What the account says of the way to its machines: the jump host, whether a host key may be pinned, and whether that may be done with a password.
 * @throws PluginError Invalid when the host key must be told and was not, Auth when a secret of the jump host cannot be had.
 */
export async function addWay(parts: Pick<ActivityParts, 'providers' | 'resolveSecrets'>, account: string, address: NodeAddress, attempt: Pick<Attempt, 'hide'>): Promise<NodeAddress> {
  const { jump: written, hostKeys } = parts.providers[account] ?? {};
  if (hostKeys === 'provided' && address.hostKey === undefined) {
    throw new PluginError('Invalid', `provider ${account} told no host key for ${address.host}, and \`hostKeys: provided\` lets CONFIRM pin none: have it give ssh-host-key, or set \`hostKeys: pin\``);
  }
  const pinned: NodeAddress = hostKeys === 'pin' && address.hostKey === undefined ? { ...address, pinsWithPassword: true } : address;
  if (written === undefined) return pinned;
  const { value, secrets } = await parts.resolveSecrets(written, `jump host of provider ${account}`);
  attempt.hide(secrets);
  const jump = isJsonObject(value) ? value : {};
  const { host, port = 22, user } = jump;
  const hostKey = hostKeyOf(jump['hostKey']);
  // heddle.yaml was checked; only what a secret brought could be anything else.
  if (typeof host !== 'string' || typeof port !== 'number' || typeof user !== 'string' || hostKey === undefined) {
    throw new PluginError('Invalid', `the jump host of provider ${account} needs host, user and hostKey`);
  }
  const credentials = credentialsOf(jump);
  attempt.hide([credentials.password, credentials.key].filter((secret) => secret !== undefined));
  return { ...pinned, jump: { host, port, user, hostKey, ...credentials } };
}

function credentialsOf(source: JsonObject): Pick<NodeAddress, 'password' | 'key' | 'agent'> {
  const text = (key: string): string | undefined => (typeof source[key] === 'string' ? source[key] : undefined);
  const [password, key, agent] = [text('password'), text('key'), text('agent')];
  return { ...(password === undefined ? {} : { password }), ...(key === undefined ? {} : { key }), ...(agent === undefined ? {} : { agent }) };
}

function hostKeyOf(value: unknown): string | readonly string[] | undefined {
  if (typeof value === 'string') return value;
  const keys = Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : [];
  // An empty list says as little as none.
  return keys.length === 0 ? undefined : keys;
}
