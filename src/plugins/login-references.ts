import type { JsonObject } from '../model/json.js';
import { poolAccount } from '../model/names.js';
import { writtenReferences } from '../model/secret-reference.js';
import type { Descriptor } from '../schema/descriptor.js';
import { inventoriesOf, referencesOfFields } from '../schema/references.js';
import { readInventory } from './inventory/read-inventory.js';

interface Account {
  readonly type: string;
  readonly fields: JsonObject;
}

/**
 * The references that an account's plugin may return in `ssh-auth`: those in its fields that the plugin gets as they
 * are, and those in the inventory that they name. Nodes of pools are of any account.
 * @param accounts Those of this process's own heddle.yaml.
 * @param describe The plugin of a type; undefined if it is not installed.
 */
export async function loginReferences(
  accounts: Readonly<Record<string, Account>>,
  name: string,
  describe: (type: string) => Pick<Descriptor, 'fields'> | undefined,
): Promise<ReadonlySet<string>> {
  const own = name === poolAccount ? Object.values(accounts) : [accounts[name]];
  const found = await Promise.all(
    own.map(async (account) => {
      const plugin = account === undefined ? undefined : describe(account.type);
      if (account === undefined || plugin === undefined) return [];
      const inventories = await Promise.all(inventoriesOf(plugin, account.fields).map(referencesInFile));
      return [...referencesOfFields(plugin, account.fields), ...inventories.flat()];
    }),
  );
  return new Set(found.flat());
}

/** None if the file cannot be used: the plugin that reads it as well says why. */
async function referencesInFile(file: string): Promise<readonly string[]> {
  try {
    const entries = await readInventory({ file, log: { warn: () => undefined } });
    return entries.flatMap(({ value }) => writtenReferences(value));
  } catch {
    return [];
  }
}
