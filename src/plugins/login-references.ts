import { isJsonObject, type Json, type JsonObject } from '../model/json.js';
import { poolAccount } from '../model/names.js';
import { findReferences, writtenReferences, type SecretOrigin } from '../model/secret-reference.js';
import type { Descriptor } from '../schema/descriptor.js';
import type { Path } from '../schema/problem.js';
import {
  inventoriesOf,
  referencesOfFields,
  type OwnReferences,
  type WrittenPlace,
} from '../schema/references.js';
import type { SettingsOrigin } from './contract.js';
import { PluginError } from './errors.js';
import { readUsable } from './inventory/read-inventory.js';

interface Account {
  readonly type: string;
  readonly fields: JsonObject;
}

/**
 * The references that an account's plugin may return in `ssh-auth`: those in its fields that are passed to
 * the plugin unresolved, and those in the inventory that these fields name. A pool's nodes may belong to any
 * account, so a broken inventory is not an error if another account contains the reference.
 * @param accounts The accounts of this process's heddle.yaml.
 * @param plugins The installed plugins.
 */
export async function loginReferences(
  accounts: Readonly<Record<string, Account>>,
  name: string,
  plugins: readonly { readonly descriptor: Pick<Descriptor, 'name' | 'fields'> }[],
): Promise<OwnReferences> {
  const names = name === poolAccount ? Object.keys(accounts) : [name];
  const references = new Map<string, WrittenPlace[]>();
  const note = (reference: string, place: WrittenPlace): void => {
    const places = references.get(reference);
    if (places === undefined) references.set(reference, [place]);
    else places.push(place);
  };
  const inventories = names.flatMap((provider) => {
    const account = accounts[provider];
    const plugin = plugins.find(({ descriptor }) => descriptor.name === account?.type)?.descriptor;
    if (account === undefined || plugin === undefined) return [];
    for (const { reference, path } of referencesOfFields(plugin, account.fields))
      note(reference, placeIn(account.fields, path, { provider }));
    return inventoriesOf(plugin, account.fields);
  });
  const log = { warn: () => undefined };
  const read = await Promise.all(
    inventories.map(async (named) => ({ named, ...(await readUsable({ ...named, log })) })),
  );
  for (const { machines, named } of read)
    for (const { value } of machines)
      for (const { reference, path } of writtenReferences(value))
        note(reference, placeIn([value], [0, ...path], { inventory: named.file }));
  const incomplete = read.flatMap(({ faults, isSettled, named }) =>
    isSettled ? faults : [...faults, changedJustNow(named.file)],
  );
  // Transient failures come first: a retry then exposes a lasting one.
  const first = incomplete.find(({ kind }) => kind === 'Retryable') ?? incomplete[0];
  return { references, ...(first === undefined ? {} : { incomplete: first }) };
}

/**
 * Where the settings of an existing machine and of its login are; undefined if neither the account's fields
 * nor their inventory list it.
 */
export async function originOfMachine(
  plugin: Pick<Descriptor, 'fields'>,
  { name, fields }: { readonly name: string; readonly fields: JsonObject },
  machine: string,
): Promise<SettingsOrigin | undefined> {
  const { machines } = fields;
  const originIn = (entries: readonly Json[], owner: Owner): SettingsOrigin | undefined => {
    const entry = entries.filter(isJsonObject).find((one) => one['name'] === machine);
    if (entry === undefined) return undefined;
    const host = placeOf({ owner, machine });
    const account = placeOf({ owner: { provider: name } });
    const login = loginKeys.map((keys) => {
      const isSetIn = (settings: JsonObject): boolean => keys.some((key) => settings[key] !== undefined);
      return isSetIn(entry) || !isSetIn(fields) ? host : account;
    });
    return { host, login: [...new Set(login)].join(' or of ') };
  };
  const own = originIn(Array.isArray(machines) ? machines : [], { provider: name });
  if (own !== undefined) return own;
  for (const named of inventoriesOf(plugin, fields)) {
    const { machines: listed } = await readUsable({ ...named, log: { warn: () => undefined } });
    const origin = originIn(
      listed.map(({ value }) => value),
      { inventory: named.file },
    );
    if (origin !== undefined) return origin;
  }
  return undefined;
}

/** Settings of a login that a machine takes from the account if it has none of its own. */
const loginKeys = [['user'], ['password', 'key', 'keyFile', 'agent']] as const;

/** Where the settings of the jump host of an account are. */
export function jumpOrigin(account: string): SettingsOrigin {
  const place = placeOf({ owner: { provider: account }, field: 'jump' });
  return { host: place, login: place };
}

/** How messages name the secrets of the jump host of an account. */
export function jumpSecrets(account: string, jump: JsonObject): Pick<SecretOrigin, 'place' | 'fieldOf'> {
  const owner = { provider: account };
  return {
    place: placeOf({ owner, field: 'jump' }),
    fieldOf: (reference) => {
      const written = findReferences(jump).find((one) => one.reference === reference);
      return written && placeIn({ jump }, ['jump', ...written.path], owner).field;
    },
  };
}

/** An account of heddle.yaml, or an inventory file. */
type Owner = { readonly provider: string } | { readonly inventory: string };

interface WrittenSetting {
  readonly owner: Owner;
  /** The name of its machine, if it is not the whole account's. */
  readonly machine?: string | undefined;
  readonly field?: string;
}

/** The place of a setting in words, such as `keyFile of machine b1 of provider rack in heddle.yaml`. */
function placeOf({ owner, machine, field }: WrittenSetting): string {
  const isAccount = 'provider' in owner;
  const words = [
    ...(field === undefined ? [] : [field]),
    ...(machine === undefined ? [] : [`machine ${machine}`]),
    ...(isAccount ? [`provider ${owner.provider}`] : []),
  ];
  return `${words.join(' of ')} in ${isAccount ? 'heddle.yaml' : `inventory ${owner.inventory}`}`;
}

/** The field at a path, and the machine around it. */
function placeIn(value: Json, path: Path, owner: Owner): WrittenPlace {
  let at: Json | undefined = value;
  for (const [index, key] of path.entries()) {
    at = Array.isArray(at) ? (at as readonly Json[])[Number(key)] : isJsonObject(at) ? at[key] : undefined;
    const machine = isJsonObject(at) && typeof key === 'number' ? at['name'] : undefined;
    if (typeof machine !== 'string') continue;
    return { field: placeOf({ owner, machine, field: path.slice(index + 1).join('.') }), machine };
  }
  return { field: placeOf({ owner, field: path.join('.') }) };
}

function changedJustNow(file: string): PluginError {
  return new PluginError('Retryable', `inventory ${file} was just changed; its references are checked again`);
}
