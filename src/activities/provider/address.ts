import { isIP } from 'node:net';
import { isJsonObject, type JsonObject } from '../../model/json.js';
import { machineOf } from '../../model/names.js';
import { possibleReferences } from '../../model/secret-reference.js';
import { unsafeText, unsafeUser } from '../../model/safe-text.js';
import type { SettingsOrigin, SshAuth } from '../../plugins/contract.js';
import { PluginError } from '../../plugins/errors.js';
import { jumpOrigin, jumpSecrets, originOfMachine } from '../../plugins/login-references.js';
import { refuseUntrusted } from '../../schema/named-files.js';
import { fieldOf } from '../../schema/references.js';
import { refuseForeign } from './references.js';
import type { Attempt } from '../attempt.js';
import type { ActivityParts, NodeAddress } from '../parts.js';

/** Where a node is, and how to log in there. */
export interface NodeLogin {
  readonly address: NodeAddress;
  readonly sshAuth: SshAuth;
}

interface NodeOf {
  /** Name of the provider account that the node's machine belongs to. */
  readonly account: string;
  /** The node's payload. */
  readonly config: JsonObject;
}

/**
 * The one way from a payload to a login. Only `ssh-auth` of a payload is resolved, and only references that
 * stand in the account's own fields in heddle.yaml or their inventory; everything else comes from plugins and
 * nodes.
 * @throws PluginError Invalid naming the key that is missing, malformed or not allowed, Auth if a secret is
 * not available.
 */
export async function findLogin(
  parts: Pick<ActivityParts, 'providers' | 'registry' | 'resolveSecrets'>,
  { account, config }: NodeOf,
  attempt: Pick<Attempt, 'hide'>,
): Promise<NodeLogin> {
  const sshAuth = await resolveLogin(parts, { account, config }, attempt);
  const address = await addWay(
    parts,
    account,
    readAddress({ ...config, 'ssh-auth': sshAuth }, parts.providers[account]?.type ?? account),
    attempt,
  );
  attempt.hide([address.password, address.key].filter((secret) => secret !== undefined));
  const origin = await originOf(parts, account, config);
  return {
    address: { ...address, ...(origin === undefined ? {} : { origin }) },
    sshAuth: { ...sshAuth, user: address.user },
  };
}

/** Where the settings of a machine that exists are. */
async function originOf(
  { providers, registry }: Pick<ActivityParts, 'providers' | 'registry'>,
  name: string,
  config: JsonObject,
): Promise<SettingsOrigin | undefined> {
  const { [name]: account } = providers;
  const plugin = registry.providers().find(({ descriptor }) => descriptor.name === account?.type);
  const machine = machineOf(config);
  if (account === undefined || plugin === undefined || machine === undefined) return undefined;
  return originOfMachine(plugin.descriptor, { name, fields: account.fields }, machine);
}

async function resolveLogin(
  parts: Pick<ActivityParts, 'providers' | 'registry' | 'resolveSecrets'>,
  { account, config }: NodeOf,
  attempt: Pick<Attempt, 'hide'>,
): Promise<JsonObject> {
  const { 'ssh-auth': auth = {} } = config;
  if (!isJsonObject(auth) || possibleReferences(auth).length === 0) return isJsonObject(auth) ? auth : {};
  const place = `ssh-auth of a node of provider ${account}`;
  const own = await refuseForeign(parts, account, auth, place);
  const { value, secrets } = await parts.resolveSecrets(auth, {
    writtenBy: 'administrator',
    place,
    fieldOf: (reference) => fieldOf(own, reference, machineOf(config)),
  });
  attempt.hide(secrets);
  return isJsonObject(value) ? value : {};
}

/**
 * How to reach a node, by the conventional keys of its payload.
 * @throws PluginError Invalid naming the key that is missing or malformed.
 */
function readAddress(config: JsonObject, plugin: string): NodeAddress {
  const host = config['ipaddress'];
  if (typeof host !== 'string' || isIP(host) === 0 || host === '0.0.0.0' || host === '::') {
    throw new PluginError(
      'Invalid',
      `plugin ${plugin} returned no usable ipaddress (${JSON.stringify(host) ?? 'none'}); CONFIRM must return one, or fail with NotReady`,
    );
  }
  const port = config['ssh-port'] ?? 22;
  if (typeof port !== 'number' || !Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new PluginError(
      'Invalid',
      `ssh-port of the node is ${JSON.stringify(port)}; it must be a number from 1 to 65535`,
    );
  }
  const auth = config['ssh-auth'];
  if (!isJsonObject(auth) || typeof auth['user'] !== 'string' || auth['user'] === '') {
    throw new PluginError('Invalid', 'the node has no ssh-auth.user; CREATE or CONFIRM must return it');
  }
  const { user } = auth;
  refuseUnsafe('ssh-auth.user of the node', unsafeUser(user));
  const hostKey = hostKeyOf(config['ssh-host-key']);
  return { host, port, user, ...credentialsOf(auth), ...(hostKey === undefined ? {} : { hostKey }) };
}

/**
 * Adds the account's settings: the jump host, and whether a host key may be pinned, with a password or
 * without.
 * @throws PluginError Invalid if a required host key is missing, Auth if a secret of the jump host is not
 * available.
 */
export async function addWay(
  parts: Pick<ActivityParts, 'providers' | 'resolveSecrets'>,
  account: string,
  address: NodeAddress,
  attempt: Pick<Attempt, 'hide'>,
): Promise<NodeAddress> {
  const { jump: written, hostKeys } = parts.providers[account] ?? {};
  if (hostKeys === 'provided' && address.hostKey === undefined) {
    throw new PluginError(
      'Invalid',
      `provider ${account} returned no host key for ${address.host}, and with \`hostKeys: provided\` CONFIRM pins none; return ssh-host-key from the provider, or set \`hostKeys: pin\``,
    );
  }
  const pinned: NodeAddress =
    hostKeys === 'pin' && address.hostKey === undefined ? { ...address, pinsWithPassword: true } : address;
  if (written === undefined) return pinned;
  refuseUntrusted(
    'socket',
    written['agent'],
    (why) => new PluginError('Invalid', `the agent for the jump host of provider ${account}: ${why}`),
  );
  const { value, secrets } = await parts.resolveSecrets(written, {
    writtenBy: 'administrator',
    ...jumpSecrets(account, written),
  });
  attempt.hide(secrets);
  const jump = isJsonObject(value) ? value : {};
  const { host, port = 22, user } = jump;
  const hostKey = hostKeyOf(jump['hostKey']);
  // heddle.yaml is validated; only a resolved secret can still be malformed.
  if (
    typeof host !== 'string' ||
    typeof port !== 'number' ||
    typeof user !== 'string' ||
    hostKey === undefined
  ) {
    throw new PluginError('Invalid', `the jump host of provider ${account} needs host, user and hostKey`);
  }
  refuseUnsafe(`host of the jump host of provider ${account}`, unsafeText(host));
  refuseUnsafe(`user of the jump host of provider ${account}`, unsafeUser(user));
  const credentials = credentialsOf(jump);
  attempt.hide([credentials.password, credentials.key].filter((secret) => secret !== undefined));
  const origin = jumpOrigin(account);
  return { ...pinned, jump: { host, port, user, hostKey, origin, ...credentials } };
}

function credentialsOf(source: JsonObject): Pick<NodeAddress, 'password' | 'key' | 'agent'> {
  const text = (key: string): string | undefined =>
    typeof source[key] === 'string' ? source[key] : undefined;
  const [password, key, agent] = [text('password'), text('key'), text('agent')];
  return { password, key, agent };
}

function hostKeyOf(value: unknown): string | readonly string[] | undefined {
  if (typeof value === 'string') return value;
  const keys = Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : [];
  // An empty list says as little as none.
  return keys.length === 0 ? undefined : keys;
}

/** Every login passes here, so that no tool behind it gets a text that it would read as more than one. */
function refuseUnsafe(what: string, why: string | undefined): void {
  if (why !== undefined)
    throw new PluginError('Invalid', `${what} ${why}, which is not allowed in the name of a host or user`);
}
