import { expect, it } from 'vitest';
import { patienceFor } from '../../src/activities/provider/patience.js';
import type { ProviderAccount } from '../../src/model/provider-account.js';
import { loadRegistry } from '../../src/plugins/registry.js';

it('a machine that exists and has no controller is waited for a minute, unless the account or the spec says otherwise', async () => {
  const registry = await loadRegistry({ folders: [], log: { info: () => undefined } });
  const base = { site: 'default', fields: {} };
  const providers: Readonly<Record<string, ProviderAccount>> = {
    cloud: { ...base, type: 'local' },
    shelf: { ...base, type: 'static' },
    slow: { ...base, type: 'static', limits: { confirmWithin: 300 } },
    rack: { ...base, type: 'ipmi' },
  };
  const parts = { registry, providers };
  expect(patienceFor(parts, 'cloud', undefined)).toEqual({});
  expect(patienceFor(parts, 'shelf', undefined)).toEqual({ answerWithinMs: 60_000, isExisting: true });
  expect(patienceFor(parts, 'slow', undefined)).toEqual({ answerWithinMs: 300_000, isExisting: true });
  expect(patienceFor(parts, 'slow', 20)).toEqual({ confirmWithinMs: 20_000, isExisting: true });
  // It may boot for longer.
  expect(patienceFor(parts, 'rack', undefined)).toEqual({ isExisting: true });
  await registry.close();
});
