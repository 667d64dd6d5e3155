import { expect } from 'vitest';
import { endedStates } from '../../../src/model/cluster/operation.js';
import type { ClusterStatus } from '../../../src/schema/output/status.js';
import { until } from '../until.js';
import type { Harness } from './harness.js';

/**
 * Tasks are met by others in the middle of what they do, so an order that a table promises may be broken on
 * purpose.
 */
export interface OracleOptions {
  /** Failures and half-done work were forced: services may have been stopped in another order. */
  readonly anyOrder?: boolean;
}

/** What must be true of a cluster whenever nothing is under way, whatever happened before. */
export async function checkAtRest(
  harness: Harness,
  name: string,
  { anyOrder = false }: OracleOptions = {},
): Promise<ClusterStatus> {
  const { cloud, warnings } = harness;
  const status = await harness.client.status(name);
  const recorded = status.nodes.flatMap(({ providerid }) => providerid ?? []);
  expect(recorded.toSorted(), 'machines recorded == machines alive').toEqual(
    cloud
      .machines(name)
      .map(({ id }) => id)
      .toSorted(),
  );
  expect(doubled(cloud.made(name)), 'keys with two machines').toEqual([]);
  expect(doubled(cloud.executions(name).map(({ runId }) => runId)), 'runs that were executed twice').toEqual(
    [],
  );
  if (!anyOrder) expect(cloud.violations(name), 'order of services').toEqual([]);
  expect(
    warnings.filter((line) => line.includes(`cluster/${name}`)).join('\n'),
    'warnings of the worker',
  ).toBe('');
  expect(
    status.operation === undefined || status.operation.state === 'held',
    `nothing under way, but ${JSON.stringify(status.operation)}`,
  ).toBe(true);
  checkHistory(status);
  return status;
}

function checkHistory({ history }: ClusterStatus): void {
  expect(doubled(history.map(({ id }) => id)), 'operations that ended twice').toEqual([]);
  for (const operation of history) {
    expect(endedStates, `operation ${operation.id}`).toContain(operation.state);
    const {
      state,
      tasks: { done, total, failed },
    } = operation;
    if (state === 'done' && failed === 0)
      expect(done, `tasks done of operation ${operation.id} (${operation.what})`).toBe(total);
  }
}

export interface WholeOptions {
  /**
   * Machines were taken over from a life of the cluster that was cut off: what it had installed besides is
   * not known.
   */
  readonly mayRunMore?: boolean;
}

/** The cluster is as its spec says, minus what was stopped. */
export function checkWhole(
  { cloud }: Harness,
  { name, nodes, stopped }: ClusterStatus,
  { mayRunMore = false }: WholeOptions = {},
): void {
  const machines = cloud.machines(name);
  for (const { nodeId, state, services, running, providerid } of nodes) {
    expect({ nodeId, state }, 'state of a node').toEqual({ nodeId, state: 'ready' });
    const wanted = services.filter((service) => !stopped.includes(service)).toSorted();
    expect(running.toSorted(), `services recorded as running on ${nodeId}`).toEqual(wanted);
    const there = [...(machines.find(({ id }) => id === providerid)?.running ?? [])];
    expect(
      there.filter((service) => !mayRunMore || wanted.includes(service)).toSorted(),
      `services that run on ${nodeId}`,
    ).toEqual(wanted);
  }
}

/** Deletes the cluster: nothing is left, and its workflows have ended. */
export async function checkDelete(
  harness: Harness,
  name: string,
  options: OracleOptions = {},
): Promise<void> {
  const { operation = '' } = await harness.client.delete(name);
  await checkDeleted(harness, name, operation, options);
}

export async function checkDeleted(
  harness: Harness,
  name: string,
  operation: string,
  options: OracleOptions = {},
): Promise<void> {
  const { client, cloud } = harness;
  await untilDeleted(harness, name, operation);
  await expect(client.temporal.workflow.getHandle(`cluster/${name}`).result()).resolves.toBe(
    `cluster ${name} was deleted`,
  );
  const status = await checkAtRest(harness, name, options);
  expect(
    status.history.find(({ id }) => id === operation),
    'the delete',
  ).toMatchObject({ state: 'done' });
  expect(status.nodes).toEqual([]);
  expect(cloud.machines(name)).toEqual([]);
  for (const group of status.groups ?? []) await untilClosed(harness, group.workflowId);
}

/** Looking at a workflow that has ended means replaying it, so that is left to the end. */
async function untilDeleted(harness: Harness, name: string, operation: string): Promise<void> {
  const handle = harness.client.temporal.workflow.getHandle(`cluster/${name}`);
  await harness.points.silence(name);
  await until(
    `delete of ${name} ends`,
    async () => {
      if ((await handle.describe()).status.name !== 'RUNNING') return true;
      const { operation: current } = await harness.client.status(name);
      if (current?.state === 'held') throw new Error(`delete ${operation} is held: ${current.reason}`);
      return undefined;
    },
    100_000,
  );
}

/** A group is told to end, and its cluster does not wait for it. */
export async function untilClosed({ client }: Harness, workflowId: string): Promise<void> {
  await until(
    `${workflowId} ends`,
    async () => (await client.temporal.workflow.getHandle(workflowId).describe()).status.name === 'COMPLETED',
  );
}

function doubled(words: readonly string[]): readonly string[] {
  return words.filter((word, index) => words.indexOf(word) !== index);
}
