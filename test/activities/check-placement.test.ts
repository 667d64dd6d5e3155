import { DefaultLogger } from '@temporalio/worker';
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ActivityParts } from '../../src/activities/parts.js';
import { createTaskActivities } from '../../src/activities/table.js';
import type { PlacementCheck, PlacementProblem } from '../../src/model/cluster/placement-check.js';
import type { JsonObject } from '../../src/model/json.js';
import { createClaims } from '../../src/testing/attempt.js';
import { openBench, type Bench } from '../harness/activities/parts.js';

let bench: Bench;
beforeAll(async () => {
  bench = await openBench(
    'async create() {} async confirm() {} async delete() {} async offers() { return JSON.parse(this.fields.token); }',
  );
});
afterAll(() => bench.close());

type CheckOptions = Partial<PlacementCheck> & { readonly claims?: ReturnType<typeof createClaims> };

async function check(
  type: string,
  fields: JsonObject,
  { claims = createClaims(), ...changes }: CheckOptions = {},
): Promise<readonly PlacementProblem[]> {
  const parts: ActivityParts = {
    ...bench.parts,
    claims: () => claims,
    providers: { rack: { type, site: 'here', fields } },
  };
  const request: PlacementCheck = {
    clusterId: 'web',
    clusterUid: 'u1',
    provider: { name: 'rack', type, fields: {} },
    path: ['nodes', 'app'],
    flavor: 'big',
    image: 'debian',
    creates: { all: 1, ofKind: 1, nodes: { app: [[1, 1]] } },
    values: [],
    ...changes,
  };
  const found: unknown = await new MockActivityEnvironment(
    { attempt: 1, startToCloseTimeoutMs: 20_000, scheduleToCloseTimeoutMs: 20_000 },
    { logger: new DefaultLogger('ERROR') },
  ).run(createTaskActivities(parts).CHECK_PLACEMENT, request);
  return (found as { readonly problems: readonly PlacementProblem[] }).problems;
}

const machine = (name: string, more: JsonObject = {}): JsonObject => ({
  name,
  address: `10.0.0.${name.slice(1)}`,
  user: 'root',
  flavor: 'big',
  image: 'debian',
  ...more,
});

describe('the check of a placement', () => {
  it.each([
    ['u1/app-1/1', 0],
    ['u1/app-2/1', 1],
    ['u2/app-1/1', 1],
  ])('counts a machine that %s claims as free only for the node that is created', async (key, count) => {
    const claims = createClaims();
    await claims.take(key, ['m1']);
    const problems = await check('static', { agent: '/nowhere', machines: [machine('m1')] }, { claims });
    expect(problems).toHaveLength(count);
  });

  it('reads the secrets of the account, and of free machines of the requested kind', async () => {
    const claims = createClaims();
    await claims.take('u2/app-1/1', ['m4']);
    const keyed = (name: string, more: JsonObject = {}): JsonObject =>
      machine(name, { keyFile: `/no/${name}`, ...more });
    const problems = await check(
      'static',
      {
        keyFile: '/no/account',
        machines: [
          keyed('m1'),
          keyed('m2', { flavor: 'tiny' }),
          keyed('m3', { image: 'other' }),
          keyed('m4'),
        ],
      },
      { claims },
    );
    expect(problems).toEqual(
      [
        'keyFile of provider rack in heddle.yaml',
        'keyFile of machine m1 of provider rack in heddle.yaml',
      ].map((field) => ({
        severity: 'error',
        path: ['nodes', 'app', 'provider'],
        wrong: expect.stringContaining(`${field}: the secret (file:) cannot be read`) as string,
        right: `Provide the secret to the workers, or correct ${field}.`,
      })),
    );
  });

  it('reads no secrets of machines where nothing is created', async () => {
    const fields = { keyFile: '/no/account', machines: [machine('m1')] };
    expect(await check('static', fields, { creates: undefined })).toEqual([]);
  });

  it.each([
    'true',
    '{"free": null}',
    '{"free": 3}',
    '{"free": {"all": 1.5, "ofKind": 1}}',
    '{"free": {"all": 1, "ofKind": -1}}',
    '{"free": {"all": 1, "ofKind": 1, "machines": "m1"}}',
    '{"refused": null}',
    '{"flavors": null}',
  ])('refuses a plugin that offers %s', async (offers) => {
    const problems = await check('fault', { token: offers });
    expect(problems).toEqual([
      expect.objectContaining({ wrong: expect.stringContaining('returned no valid offers') as string }),
    ]);
  });
});
