import { expect, test } from 'vitest';
import { loadRegistry } from '../../src/plugins/registry.js';
import { fieldsJsonSchema } from '../../src/schema/fields.js';

test('the built-in plugins are valid', async () => {
  const registry = await loadRegistry({ folders: [], log: { info: () => undefined } });
  expect(registry.providers().map(({ descriptor }) => descriptor.name)).toEqual(
    expect.arrayContaining(['local', 'static']),
  );
  expect(registry.automators().map(({ descriptor }) => descriptor.name)).toEqual(
    expect.arrayContaining(['shell']),
  );
  for (const { descriptor } of [...registry.providers(), ...registry.automators()]) {
    expect(Object.keys(fieldsJsonSchema(descriptor, 'user'))).toContain('properties');
  }
});
