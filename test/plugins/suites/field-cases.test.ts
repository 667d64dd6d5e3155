import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadRegistry, type Registry } from '../../../src/plugins/registry.js';
import { fieldCases } from '../../../src/testing/field-cases.js';

describe('the field cases of the suites', () => {
  let registry: Registry;
  beforeAll(async () => {
    registry = await loadRegistry({ folders: [], log: { info: () => undefined } });
  });
  afterAll(() => registry.close());

  it('pass for every shipped plugin, with bounds and conditions', async () => {
    const ran: string[] = [];
    for (const plugin of [...registry.providers(), ...registry.automators()]) {
      for (const { id, lacks, run } of fieldCases<{ readonly plugin: typeof plugin }>(() => ({}))) {
        if (lacks?.({ plugin }) !== undefined) continue;
        await run({ plugin } as never);
        ran.push(`${plugin.descriptor.name} ${id}`);
      }
    }
    expect(ran).toEqual(
      expect.arrayContaining(['docker missing-fields', 'aws missing-fields', 'static wrong-fields']),
    );
  });
});
