import { isJsonObject, type JsonObject } from '../model/json.js';
import { PluginError } from '../plugins/errors.js';
import type { NodeAddress } from './parts.js';

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
  const text = (key: string): string | undefined => (typeof auth[key] === 'string' ? auth[key] : undefined);
  const password = text('password');
  const key = text('key');
  const agent = text('agent');
  const hostKey = config['ssh-host-key'];
  return {
    host, port, user: auth['user'],
    ...(password === undefined ? {} : { password }), ...(key === undefined ? {} : { key }), ...(agent === undefined ? {} : { agent }),
    ...(typeof hostKey === 'string' ? { hostKey } : {}),
    ...(Array.isArray(hostKey) ? { hostKey: hostKey.filter((one) => typeof one === 'string') } : {}),
  };
}
