import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Json, JsonObject } from '../../model/json.js';
import { vaulted } from './yaml.js';

/**
 * Ansible's variables for the fields of a machine's entry; the first one present is used, as in Ansible's SSH
 * connection.
 */
const names = {
  address: ['ansible_ssh_host', 'ansible_host'],
  port: ['ansible_ssh_port', 'ansible_port'],
  user: ['ansible_ssh_user', 'ansible_user'],
  password: ['ansible_ssh_password', 'ansible_ssh_pass', 'ansible_password'],
  keyFile: ['ansible_ssh_private_key_file', 'ansible_private_key_file'],
  hostKey: ['heddle_host_key'],
  flavor: ['heddle_flavor'],
  image: ['heddle_image'],
  slots: ['heddle_slots'],
  controller: ['heddle_controller'],
  labels: ['heddle_labels'],
} as const;

const numbers: readonly string[] = ['port', 'slots'];

/** Connections that are SSH. */
const overSsh = /^(?:ansible\.(?:builtin|netcommon)\.)?(?:smart|ssh|paramiko|paramiko_ssh|libssh)$/;

/** Why a host cannot be used as a machine; undefined if it can. */
export function notOverSsh({ ansible_connection: connection }: JsonObject): string | undefined {
  return connection === undefined || (typeof connection === 'string' && overSsh.test(connection))
    ? undefined
    : 'it is not reached by SSH (ansible_connection)';
}

/**
 * A machine's entry in the form of `machines` in heddle.yaml, from an inventory's variables of a host.
 * @throws Error with a text; values are not quoted, because they may be secret.
 */
export function toMachine(host: string, variables: JsonObject, folder: string): JsonObject {
  const entry: Record<string, Json> = { name: host, address: host };
  for (const [key, candidates] of Object.entries(names)) {
    const name = candidates.find(
      (candidate) => variables[candidate] !== undefined && variables[candidate] !== null,
    );
    const value = name === undefined ? undefined : variables[name];
    if (name === undefined || value === undefined) continue;
    if (typeof value === 'string' && value.startsWith(vaulted))
      throw new Error(
        `${name} is encrypted with ansible-vault, which Heddle does not support; set keyFile of the account, or a password of the machine in heddle.yaml`,
      );
    if (typeof value === 'string' && value.includes('{{'))
      throw new Error(
        `${name} is a template, which Heddle does not evaluate; write the value, or generate a plain inventory: ansible-inventory -i FILE --list --yaml`,
      );
    entry[key] =
      numbers.includes(key) && typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
  }
  const { keyFile } = entry;
  return typeof keyFile === 'string'
    ? {
        ...entry,
        keyFile: keyFile.startsWith('~/') ? join(homedir(), keyFile.slice(2)) : resolve(folder, keyFile),
      }
    : entry;
}
