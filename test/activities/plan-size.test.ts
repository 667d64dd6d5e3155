import { afterAll, beforeAll, expect, test } from 'vitest';
import { servePlan } from '../../src/activities/cluster/plan.js';
import { jsonBytes, maxPlanBytes, maxSpecBytes, mostSent } from '../../src/model/carried.js';
import type { Intent } from '../../src/model/plan/intent/intent.js';
import { emptyCluster } from '../../src/model/plan/facts/current.js';
import { packCurrent, packPlan, unpackPlan, type PackedPlan } from '../../src/model/plan/packed.js';
import { loadRegistry, type Registry } from '../../src/plugins/registry.js';
import { configSchema } from '../../src/schema/config.js';

let registry: Registry;
beforeAll(async () => {
  registry = await loadRegistry({ folders: [], log: { info: () => undefined } });
});
afterAll(() => registry.close());

const namesOf = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, number) => `s${number}`);

interface Planned {
  readonly groups: number;
  /** Of all groups. */
  readonly services: readonly string[];
  /** Each group has only one of them. */
  readonly oneEach?: true;
  readonly intent?: Intent;
  readonly labels?: Readonly<Record<string, string>>;
}

async function plan({
  groups,
  services,
  oneEach,
  intent = { kind: 'apply' },
  labels,
}: Planned): Promise<PackedPlan> {
  const group = { count: 1, provider: 'box', hardware: 'any', image: 'node' };
  const action = { type: 'fake', fields: {} };
  const actions = { install: action, configure: action, initialize: action, start: action };
  const spec = {
    name: 'web',
    nodes: Object.fromEntries(
      Array.from({ length: groups }, (_, number) => [
        `g${number}`,
        { ...group, services: oneEach === true ? services.slice(number, number + 1) : services },
      ]),
    ),
    services: Object.fromEntries(services.map((name) => [name, { actions }])),
    ...(labels === undefined ? {} : { labels }),
  };
  expect(jsonBytes(spec)).toBeLessThan(maxSpecBytes);
  const reply = await servePlan(
    {
      registry,
      providers: { box: { type: 'aws', site: 'here', fields: { region: 'eu-1' } } },
      features: { searchAttributes: false },
      settings: configSchema.parse({}),
      forbiddenReferences: () => [],
      outputs: { outputs: async () => undefined, sources: async () => undefined },
    },
    {
      clusterName: 'web',
      intent,
      ...(intent.kind === 'delete' ? {} : { spec }),
      current: packCurrent(emptyCluster),
    },
  );
  if (reply.rejected === undefined) return reply.plan;
  throw Object.assign(new Error(reply.rejected.message), reply.rejected);
}

test('a plan of 450 groups with the same 20 services states their tasks once', async () => {
  const packed = await plan({ groups: 450, services: namesOf(20) });
  const unpacked = unpackPlan(packed);
  expect(unpacked.kinds).toHaveLength(450);
  expect(jsonBytes(unpacked)).toBeGreaterThan(2 * mostSent);
  expect(jsonBytes({ ...packed, spec: undefined })).toBeLessThan(maxPlanBytes);
  expect(packPlan(unpacked)).toEqual(packed);
});

test('a plan of 450 services that each read all 450 groups states what they wait for once', async () => {
  const packed = await plan({ groups: 450, services: namesOf(450), oneEach: true });
  expect(jsonBytes(unpackPlan(packed))).toBeGreaterThan(mostSent);
  expect(jsonBytes({ ...packed, spec: undefined })).toBeLessThan(maxPlanBytes);
});

test('a plan whose tasks do not fit into messages is refused with its size, the limit and a remedy', async () => {
  await expect(plan({ groups: 200, services: namesOf(120) })).rejects.toMatchObject({
    type: 'Invalid',
    message: expect.stringMatching(
      /^the plan has \d+ bytes as JSON, and the limit is 500000; \d+ bytes of them are \d+ different tasks of 200 kinds of nodes; give more groups the same services, or fewer services, or divide/,
    ) as string,
  });
});

test('a plan whose machines do not fit into messages names their groups and what is large in them', async () => {
  const labels = Object.fromEntries(
    Array.from({ length: 20 }, (_, number) => [`label-${number}`, 'x'.repeat(60)]),
  );
  await expect(plan({ groups: 450, services: [], labels })).rejects.toMatchObject({
    type: 'Invalid',
    message: expect.stringMatching(
      /\d+ bytes of them are the machines of 450 groups; give the groups fewer fields, labels and alternatives, or divide/,
    ) as string,
  });
});
