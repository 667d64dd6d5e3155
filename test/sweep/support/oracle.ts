import { expect } from 'vitest';
import { endedStates } from '../../../src/model/operation.js';
import type { ClusterStatus } from '../../../src/model/status.js';
import { until } from '../../support/until.js';
import type { Harness } from './harness.js';

/** Tasks are met by others in the middle of what they do, so an order that a table promises may be broken on purpose. */
export interface OracleOptions {
  /** Failures and half-done work were forced: services may have been stopped in another order. */
  readonly anyOrder?: boolean;
}

/** What must be true of a cluster whenever nothing is under way, whatever happened before. */
export async function checkAtRest({ client, cloud, warnings }: Harness, name: string, { anyOrder = false }: OracleOptions = {}): Promise<ClusterStatus> {
  const status = await client.status(name);
  const recorded = status.nodes.flatMap(({ providerid }) => providerid ?? []);
  expect(recorded.toSorted(), 'machines recorded == machines alive').toEqual(cloud.machines(name).map(({ id }) => id).toSorted());
  expect(doubled(cloud.made(name)), 'keys with two machines').toEqual([]);
  expect(doubled(cloud.executions(name).map(({ runId }) => runId)), 'runs that were executed twice').toEqual([]);
  if (!anyOrder) expect(cloud.violations(name), 'order of services').toEqual([]);
  expect(warnings.filter((line) => line.includes(`cluster/${name}`)), 'warnings of the worker').toEqual([]);
  expect(status.operation === undefined || status.operation.state === 'held', `nothing under way, but ${JSON.stringify(status.operation)}`).toBe(true);
  checkHistory(status);
  return status;
}

function checkHistory({ history }: ClusterStatus): void {
  expect(doubled(history.map(({ id }) => id)), 'operations that ended twice').toEqual([]);
  for (const operation of history) {
    expect(endedStates, `operation ${operation.id}`).toContain(operation.state);
    const { state, tasks: { done, total, failed } } = operation;
    if (state === 'done' && failed === 0) expect(done, `tasks done of operation ${operation.id} (${operation.what})`).toBe(total);
  }
}

/** The cluster is as its spec says, minus what was stopped. */
export function checkWhole({ cloud }: Harness, { name, nodes, stopped }: ClusterStatus): void {
  const machines = cloud.machines(name);
  for (const { nodeId, state, services, running, providerid } of nodes) {
    expect({ nodeId, state }, 'state of a node').toEqual({ nodeId, state: 'ready' });
    const wanted = services.filter((service) => !stopped.includes(service)).toSorted();
    expect(running.toSorted(), `services recorded as running on ${nodeId}`).toEqual(wanted);
    expect([...machines.find(({ id }) => id === providerid)?.running ?? []].toSorted(), `services that run on ${nodeId}`).toEqual(wanted);
  }
}

/** Deletes the cluster: nothing is left, and its workflows have ended. */
export async function checkDelete(harness: Harness, name: string, options: OracleOptions = {}): Promise<void> {
  const { operation = '' } = await harness.client.delete(name);
  await checkDeleted(harness, name, operation, options);
}

export async function checkDeleted(harness: Harness, name: string, operation: string, options: OracleOptions = {}): Promise<void> {
  const { client, cloud } = harness;
  const ended = await harness.waitFor(name, operation);
  expect(ended.operation, 'the delete').toMatchObject({ state: 'done' });
  await expect(client.temporal.workflow.getHandle(`cluster/${name}`).result()).resolves.toBe(`cluster ${name} was deleted`);
  const status = await checkAtRest(harness, name, options);
  expect(status.nodes).toEqual([]);
  expect(cloud.machines(name)).toEqual([]);
  for (const group of status.groups ?? []) await untilClosed(harness, group.workflowId);
}

/** A group is told to end, and its cluster does not wait for it. */
export async function untilClosed({ client }: Harness, workflowId: string): Promise<void> {
  await until(`${workflowId} ends`, async () => (await client.temporal.workflow.getHandle(workflowId).describe()).status.name === 'COMPLETED');
}

function doubled(words: readonly string[]): readonly string[] {
  return words.filter((word, index) => words.indexOf(word) !== index);
}
