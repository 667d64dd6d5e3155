import type { z } from 'zod';
import { PluginError } from '../errors.js';
import { parseOrFaults } from '../field-faults.js';
import { withoutRegistration, type InventoryEntry } from './read-inventory.js';

/**
 * Validates the entries of an inventory with the provider's schema.
 * @throws PluginError Invalid naming every fault; values are not quoted, because they may be secret.
 */
export function checkEntries<Schema extends z.ZodType>(
  schema: Schema,
  entries: readonly InventoryEntry[],
  file: string,
): readonly z.output<Schema>[] {
  const wrong: string[] = [];
  const checked = entries.flatMap(({ value, line }, index) => {
    const parsed = parseOrFaults(schema, withoutRegistration(value));
    if ('data' in parsed) return [parsed.data];
    const where = line === undefined ? '' : `line ${line}, `;
    for (const fault of parsed.faults)
      wrong.push(`${where}${['machines', index, ...fault.path].join('.')}: ${fault.wrong}`);
    return [];
  });
  if (wrong.length === 0) return checked;
  throw new PluginError('Invalid', `inventory ${file} is invalid: ${wrong.join('; ')}`);
}
