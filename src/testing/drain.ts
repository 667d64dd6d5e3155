import { deepStrictEqual } from 'node:assert/strict';
import type { Registry } from '../plugins/registry.js';
import { loadPlugins, type Surroundings } from './surroundings.js';

/**
 * Loads the plugins, uses them, and closes them as a worker does. @throws AssertionError if a client was not
 * stopped, or a process was left behind.
 */
export async function drain(
  folders: readonly string[] | undefined,
  surroundings: Surroundings,
  use: (registry: Registry) => Promise<void>,
): Promise<void> {
  const said: string[] = [];
  const registry = await loadPlugins(folders, surroundings, (words) => void said.push(words));
  try {
    await use(registry);
  } finally {
    await registry.close();
  }
  deepStrictEqual(
    said.filter((words) => / its client | left \d+ process/.test(words)),
    [],
    'the plugin did not stop what it started',
  );
}
