import type { WorkflowFailedError } from '@temporalio/client';
import { beforeAll, expect, it } from 'vitest';
import { jsonBytes, maxPlanBytes, mostSent } from '../../src/model/carried.js';
import { planWorkflowType, workflowQueue } from '../../src/model/names.js';
import { emptyCluster } from '../../src/model/plan/facts/current.js';
import { packCurrent } from '../../src/model/plan/packed.js';
import { startStack, type Stack } from '../harness/stack.js';
import { closed, nodes } from '../harness/workflows/spec.js';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
  await stack.startWorker();
});

const action = { type: 'fake', fields: {} };
const actions = { install: action, configure: action, initialize: action, start: action };
const many = (count: number, sign: string): readonly string[] =>
  Array.from({ length: count }, (_, number) => `${sign}${number}`);

function cluster(name: string, groups: number, services: number): ReturnType<typeof closed> {
  return closed({
    name,
    nodes: Object.fromEntries(many(groups, 'g').map((group) => [group, nodes(1, many(services, 's'))])),
    services: Object.fromEntries(many(services, 's').map((service) => [service, { actions }])),
  });
}

it('a plan of 450 groups with 20 services each passes through the server', async () => {
  const { plan } = await stack.client.plan(cluster('wide', 450, 20));
  expect(plan.kinds).toHaveLength(450);
  expect(plan.kinds[449]?.chain.map(({ action: name }) => name)).toContain('START');
  expect(jsonBytes(plan)).toBeGreaterThan(2 * mostSent);
});

it('an apply whose plan is too large is rejected before a node exists, with size, limit and remedy', async () => {
  const { operation } = await stack.client.apply(cluster('dense', 200, 110));
  const { status } = await stack.client.waitFor('dense', operation);
  expect(status.history[0]).toMatchObject({
    state: 'rejected',
    reason: expect.stringMatching(
      new RegExp(`the plan has \\d+ bytes as JSON, and the limit is ${maxPlanBytes}; .*fewer services`),
    ) as string,
  });
  expect(status.nodes).toEqual([]);
  await stack.client.delete('dense').catch(() => undefined);
});

it('a request of an activity that no message can carry fails with the reason, and not the workflow task', async () => {
  const start = {
    clusterName: 'huge',
    intent: { kind: 'apply' },
    current: packCurrent(emptyCluster),
    spec: { name: 'huge' },
  };
  const pad = 'x'.repeat(1_450_000);
  const request = {
    ...start,
    spec: { name: 'huge', pad },
    current: { ...start.current, pad: pad.slice(0, 605_000) },
  };
  expect(jsonBytes(request)).toBeGreaterThan(mostSent);
  const error = await stack.client.temporal.workflow
    .execute(planWorkflowType, { workflowId: 'plan/huge', taskQueue: workflowQueue, args: [request] })
    .then(String, (reason: unknown) => reason);
  expect((error as WorkflowFailedError).cause?.cause).toMatchObject({
    message: expect.stringMatching(
      /the request of PLAN has \d+ bytes as JSON; the limit of a message is 2050000/,
    ) as string,
  });
});
