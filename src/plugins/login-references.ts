import type { JsonObject } from '../model/json.js';
import { poolAccount } from '../model/names.js';
import { writtenReferences } from '../model/secret-reference.js';
import type { Descriptor } from '../schema/descriptor.js';
import { inventoriesOf, referencesOfFields, type OwnReferences } from '../schema/references.js';
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
  const own = name === poolAccount ? Object.values(accounts) : [accounts[name]];
  const references = new Set<string>();
  const inventories = own.flatMap((account) => {
    const plugin = plugins.find(({ descriptor }) => descriptor.name === account?.type)?.descriptor;
    if (account === undefined || plugin === undefined) return [];
    for (const reference of referencesOfFields(plugin, account.fields)) references.add(reference);
    return inventoriesOf(plugin, account.fields);
  });
  const log = { warn: () => undefined };
  const read = await Promise.all(
    inventories.map(async (named) => ({ named, ...(await readUsable({ ...named, log })) })),
  );
  for (const { machines } of read)
    for (const { value } of machines)
      for (const reference of writtenReferences(value)) references.add(reference);
  const incomplete = read.flatMap(({ faults, isSettled, named }) =>
    isSettled ? faults : [...faults, changedJustNow(named.file)],
  );
  // Transient failures come first: a retry then exposes a lasting one.
  const first = incomplete.find(({ kind }) => kind === 'Retryable') ?? incomplete[0];
  return { references, ...(first === undefined ? {} : { incomplete: first }) };
}

function changedJustNow(file: string): PluginError {
  return new PluginError('Retryable', `inventory ${file} was just changed; its references are checked again`);
}
