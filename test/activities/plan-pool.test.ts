import { expect, it } from 'vitest';
import { planPool } from '../../src/activities/pool/plan.js';
import { loadRegistry } from '../../src/plugins/registry.js';

it('batches tasks if no limit counts activities and a call may be repeated at once', async () => {
  const registry = await loadRegistry({ folders: [], log: { info: () => undefined } });
  const account = { site: 'default', fields: {} };
  const providers = {
    free: { ...account, type: 'local' },
    rated: { ...account, type: 'local', limits: { ratePerSecond: 5 } },
    paced: { ...account, type: 'local', limits: { callsPerSecond: 5 } },
    narrow: { ...account, type: 'local', limits: { concurrency: 2 } },
    slow: { ...account, type: 'openstack' },
    shelf: { ...account, type: 'static' },
  };
  const offer = { hardware: 'small', image: 'host', fields: {}, uses: { nodes: 1 } };
  const providerPools = Object.fromEntries(
    Object.keys(providers).map((provider) => [
      provider,
      { provider, priority: 100, limits: {}, attributes: {}, launchAttempts: 3, labels: { a: offer } },
    ]),
  );
  const spec = {
    name: 'ci',
    tenants: {},
    labels: { a: { minReady: 0, spareAge: 600, onReturn: 'delete' } },
    providerPools,
  };
  const plan = await planPool(
    { registry, providers, forbiddenReferences: () => [] },
    { poolName: 'ci', spec },
  );
  await registry.close();
  expect(plan.batchedAccounts).toEqual(['free', 'shelf']);
  // A deletion is bounded by what one call of its provider may take.
  expect(plan.providerTypes).toEqual({
    local: { deleteWithinMs: 130_000, claims: false },
    openstack: { deleteWithinMs: 143_000, claims: false },
    static: { deleteWithinMs: 150_000, claims: true },
  });
});
