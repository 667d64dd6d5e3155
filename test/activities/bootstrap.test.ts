import { afterAll, beforeAll, expect, test } from 'vitest';
import { planCluster } from '../../src/activities/cluster/plan.js';
import type { PlannedFacts } from '../../src/model/plan/facts/current.js';
import { loadRegistry, type Registry } from '../../src/plugins/registry.js';
import { configSchema } from '../../src/schema/config.js';

let registry: Registry;
beforeAll(async () => {
  registry = await loadRegistry({ folders: [], log: { info: () => undefined } });
});
afterAll(() => registry.close());

/** The steps of the only node with these services, each an automator type. */
async function chainOf(services: Readonly<Record<string, string>>, facts?: PlannedFacts) {
  const actions = (type: string): object => ({
    actions: { start: { type, fields: type === 'puppet' ? { manifest: 'true' } : { script: 'true' } } },
  });
  const { kinds } = await planCluster(
    {
      registry,
      providers: { box: { type: 'static', site: 'here', fields: {} } },
      features: { searchAttributes: false },
      settings: configSchema.parse({}),
      forbiddenReferences: () => [],
    } as never,
    {
      clusterName: 'web',
      intent: { kind: 'apply' },
      spec: {
        name: 'web',
        nodes: {
          app: { count: 1, provider: 'box', hardware: 'any', image: 'any', services: Object.keys(services) },
        },
        services: Object.fromEntries(Object.entries(services).map(([name, type]) => [name, actions(type)])),
      },
      current: {
        uid: 'u',
        nodes: facts === undefined ? [] : [{ group: 'app', nodes: [[1, 1]], facts }],
        services: {},
        stopped: [],
        incarnation: 1,
        nodenum: 1,
      },
    } as never,
  );
  return kinds[0]?.chain ?? [];
}

test('BOOTSTRAP runs again on a node that gets a service whose automator prepares its users', async () => {
  const before = await chainOf({ web: 'shell' });
  const digestOf = (action: string): string | undefined =>
    before.find((step) => step.action === action)?.digest;
  const facts = {
    CREATE: true,
    CONFIRM: true,
    BOOTSTRAP: digestOf('BOOTSTRAP'),
    services: { web: { START: digestOf('START') } },
  } as const;
  const actionsOf = async (services: Readonly<Record<string, string>>): Promise<readonly string[]> =>
    (await chainOf(services, facts as never)).map(({ action }) => action);

  expect(await actionsOf({ web: 'shell', more: 'shell' })).toEqual(['START']);
  expect(await actionsOf({ web: 'shell', more: 'puppet' })).toEqual(['BOOTSTRAP', 'START']);
});
