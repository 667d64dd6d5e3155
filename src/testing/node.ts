import { isJsonObject, type JsonObject } from '../model/json.js';
import { PluginError } from '../plugins/errors.js';
import { resolveSecrets } from '../secrets/reference.js';
import type { SshTarget } from '../ssh/target.js';

/**
 * The SSH login in a machine's payload.
 * @throws PluginError Invalid naming the missing key.
 */
export async function readTarget(config: JsonObject): Promise<SshTarget> {
  const { ipaddress: host, 'ssh-port': port = 22, 'ssh-host-key': hostKey } = config;
  const { value } = await resolveSecrets(
    config['ssh-auth'] ?? {},
    { environment: {} },
    { writtenBy: 'administrator', place: 'ssh-auth', reader: 'this computer' },
  );
  const auth = isJsonObject(value) ? value : {};
  const { user, password, key, agent } = auth;
  if (typeof host !== 'string' || typeof user !== 'string' || typeof port !== 'number')
    throw new PluginError('Invalid', 'ipaddress or ssh-auth.user is missing');
  const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
  const keys = [hostKey].flat().filter((one): one is string => typeof one === 'string');
  return {
    host,
    port,
    user,
    hostKey: keys.length === 0 ? undefined : keys,
    password: text(password),
    privateKey: text(key),
    agent: text(agent),
  };
}
