import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { AutomatorAbilities, ProviderAbilities } from '../../../src/plugins/contract.js';
import { findPlugins } from '../../../src/plugins/find-plugins.js';
import { loadRegistry } from '../../../src/plugins/registry.js';
import { systemMethods } from '../../../src/testing/automator-system-cases.js';

const root = join(import.meta.dirname, '../../..');

/** Plugins without a suite of their own, each with its reason. */
const without: Readonly<Record<string, string>> = {
  'provider pool':
    'its machines are those of other providers, which the workflow of a pool gives it: test/workflows/pools has both',
};

const notifications = ['nodeDeleted', 'nodeReused'] as const satisfies readonly (keyof ProviderAbilities)[];
const system = [
  ...systemMethods,
  'grantAccess',
  'revokeAccess',
] as const satisfies readonly (keyof AutomatorAbilities)[];

const suites = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith('.test.ts') && file !== 'all.test.ts')
  .map((file) => readFileSync(join(import.meta.dirname, file), 'utf8'))
  .join('\n');

test('every plugin of Heddle, and every example, is tested by the suite of its type', () => {
  const { found, problems } = findPlugins(
    [join(root, 'src/plugins'), join(root, 'examples/plugins')],
    join(root, 'src/plugins'),
  );
  expect(problems).toEqual([]);
  const missing = found
    .map(({ descriptor: { type, name } }) => ({ type, name }))
    .filter(({ name }) => !suites.includes(`name: '${name}'`) && !suites.includes(`\n  ${name}: {`))
    .map(({ type, name }) => `${type} ${name}`);
  expect(missing).toEqual(Object.keys(without));
});

test('each notification, UNLOAD and each method of systems is part of a plugin of Heddle', async () => {
  const registry = await loadRegistry({ folders: [], log: { info: () => undefined } });
  try {
    const used = [...registry.providers(), ...registry.automators()].flatMap(({ abilities }) => abilities);
    expect(used).toEqual(expect.arrayContaining([...notifications, 'unload', ...system]));
  } finally {
    await registry.close();
  }
});
