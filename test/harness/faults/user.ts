import { setTimeout as pause } from 'node:timers/promises';
import { ApplicationFailure } from '@temporalio/common';
import { expect } from 'vitest';
import { HeddleError } from '../../../src/client/errors.js';
import type { ClusterStatus } from '../../../src/schema/output/status.js';
import { until } from '../until.js';
import type { Harness } from './harness.js';
import { askFor, type Ask } from './operations.js';
import { checkAtRest, checkDelete, checkWhole } from './oracle.js';
import { tiny, type Shape } from './specs.js';

/** What goes wrong during an operation, at one of its tasks. */
export const troubles = [
  'nothing',
  'fails once',
  'loses its answer',
  'fails for good',
  'cancel',
  'delete',
  'pause',
  'terminate',
] as const;
export interface Trouble {
  readonly what: (typeof troubles)[number];
  /** Tasks that pass by before it. */
  readonly skip: number;
  /** What a person does about a held operation. */
  readonly then: 'retry' | 'cancel' | 'apply';
}

/** What must be true of a cluster, in a few words. */
export interface Model {
  shape: Shape | undefined;
  /** The last apply came true and nothing was lost or cut short since. */
  whole: boolean;
  /** A life that was cut off left software that nobody knows of any more. */
  adopted: boolean;
  /** Orders of services that were broken on purpose. */
  anyOrder: boolean;
}

/** One user with one cluster, who asks for things and meets trouble. */
export interface User {
  readonly name: string;
  readonly harness: Harness;
  /** What was done and what came of it, for the message of a failure. */
  readonly story: string[];
}

export async function ask(model: Model, user: User, asked: Ask, trouble: Trouble): Promise<void> {
  const { harness, name, story } = user;
  const { client, points } = harness;
  if ('apply' in asked) await makePlaces(user, asked.apply);
  story.push(`${JSON.stringify(asked)} with ${JSON.stringify(trouble)}`);
  arm(user, trouble);
  const id = await askFor(client, name, asked);
  if (trouble.what === 'pause') {
    const paused = await until('paused or over', () => pausedOrOver(user, id));
    if (paused === 'paused')
      await client.resume(name).catch((error: unknown) => story.push(`resume: ${String(error)}`));
  }
  const settled = await settle(user, id);
  points.disarm(name);
  const cut = settled === 'held' && 'remove' in asked ? await deleteAgain(user, id) : settled;
  story.push(`  ended ${cut}`);
  if ('apply' in asked) model.shape = asked.apply;
  model.anyOrder ||= ['fails for good', 'terminate', 'cancel'].includes(trouble.what);
  if (cut === 'closed') {
    model.whole = false;
    model.shape = undefined;
    model.adopted = trouble.what === 'terminate';
    await checkGone(user, model);
    return;
  }
  if (cut === 'held') await mend(model, user, id, trouble);
  else if (cut === 'done') model.whole ||= 'apply' in asked;
  else model.whole = false;
  await check(model, user);
}

/**
 * An apply after a terminated run is refused if it has no place for a machine that the run left,
 * and takes none. One with a place for all adopts them; the next one names what it removes.
 */
async function makePlaces(user: User, shape: Shape): Promise<void> {
  const { harness, name, story } = user;
  const { client, cloud } = harness;
  if (['NONE', 'COMPLETED', 'RUNNING'].includes(await workflowState(user))) return;
  const left = cloud.machines(name).map(({ id }) => id);
  const nodes = cloud.machines(name).map(({ hostname }) => Number(/-web-(\d+)$/.exec(hostname)?.[1] ?? 0));
  const web = Math.max(0, ...nodes);
  if (web <= (shape.web ?? 1)) return;
  const apply = async (wanted: Shape): Promise<End> => {
    const end = await settle(user, (await client.apply(tiny(name, wanted))).operation);
    story.push(`${JSON.stringify(wanted)} after a terminated run ended ${end}`);
    expect(cloud.machines(name).map(({ id }) => id)).toEqual(expect.arrayContaining(left));
    return end;
  };
  harness.expectRefusal(name);
  // Its workflow ends a moment after the operation.
  expect(['closed', 'rejected']).toContain(await apply(shape));
  expect(await apply({ ...shape, web })).toBe('done');
}

async function workflowState({ harness, name }: User): Promise<string> {
  return harness.client.temporal.workflow
    .getHandle(`cluster/${name}`)
    .describe()
    .then(
      ({ status }) => status.name,
      () => 'NONE',
    );
}

/** The workflow is cut off in the middle; the next apply takes over what it left. */
async function checkGone({ harness, name, story }: User, { anyOrder }: Model): Promise<void> {
  const handle = harness.client.temporal.workflow.getHandle(`cluster/${name}`);
  const { status } = await handle.describe();
  story.push(`  workflow ${status.name}`);
  expect(status.name, 'how the workflow ended').not.toBe('FAILED');
  if (status.name === 'COMPLETED') expect((await checkAtRest(harness, name, { anyOrder })).nodes).toEqual([]);
}

/** Brings the cluster to its spec and looks; what was cut short before is made whole. */
export async function check(model: Model, user: User): Promise<void> {
  const status = await checkAtRest(user.harness, user.name, model);
  if (!model.whole || model.shape === undefined) return;
  checkWhole(user.harness, status, { mayRunMore: model.adopted });
  expect(status.nodes.length, 'nodes').toBe(1 + (model.shape.web ?? 1));
}

async function mend(model: Model, user: User, id: string, { then }: Trouble): Promise<void> {
  const { harness, name, story } = user;
  await checkAtRest(harness, name, { anyOrder: true });
  story.push(`  held; ${then}`);
  if (then === 'cancel') {
    await harness.client.cancel(name, id);
    expect(await settle(user, id)).toBe('cancelled');
    model.whole = false;
    return;
  }
  const again =
    then === 'retry'
      ? (await harness.client.retry(name)).operation
      : (await harness.client.apply(tiny(name, model.shape))).operation;
  const end = await settle(user, again);
  story.push(`  then ${end}`);
  expect(end).toBe('done');
  model.whole ||= then === 'apply';
}

/** Nothing but a delete helps where one was held. */
async function deleteAgain(user: User, id: string): Promise<End> {
  user.story.push('  held; retry');
  await user.harness.client.retry(user.name);
  return settle(user, id);
}

type End = 'done' | 'failed' | 'held' | 'cancelled' | 'superseded' | 'rejected' | 'closed';

/**
 * Undefined where a busy worker did not answer in time, or the workflow ended meanwhile: it is asked again.
 */
async function statusSoon({ client }: Harness, name: string): Promise<ClusterStatus | undefined> {
  return client.status(name).catch((error: unknown) => {
    if (error instanceof HeddleError && error.code === 'NoWorker') return undefined;
    if (error instanceof HeddleError && error.message.includes('was ended in the middle')) return undefined;
    throw error;
  });
}

async function pausedOrOver({ harness, name }: User, id: string): Promise<'paused' | 'over' | undefined> {
  await pause(200);
  const status = await statusSoon(harness, name);
  if (status === undefined) return undefined;
  const { operation } = status;
  if (operation?.id !== id || operation.state === 'held') return 'over';
  return operation.paused === undefined ? undefined : 'paused';
}

async function settle({ harness, name }: User, id: string): Promise<End> {
  await harness.points.silence(name);
  return until(
    `operation ${id} of ${name} ends`,
    async () => {
      const handle = harness.client.temporal.workflow.getHandle(`cluster/${name}`);
      if ((await handle.describe()).status.name !== 'RUNNING') return 'closed' as const;
      const status = await statusSoon(harness, name);
      if (status === undefined) return undefined;
      const { operation, history, queued } = status;
      if (operation?.id === id && operation.state === 'held') return 'held' as const;
      // A delete that came in between goes on to its own end.
      if (operation?.kind === 'delete' || queued.some(({ kind }) => kind === 'delete')) return undefined;
      if (operation?.id === id) return undefined;
      const ended = history.find((one) => one.id === id);
      // Deleted, the workflow is about to end.
      const isEnding =
        operation === undefined && history[0]?.kind === 'delete' && history[0].state === 'done';
      return isEnding ? undefined : (ended?.state as End | undefined);
    },
    100_000,
  );
}

function arm({ harness: { client, points }, name, story }: User, { what, skip }: Trouble): void {
  const at = (act: Parameters<typeof points.arm>[0]['act']): void =>
    points.arm({ cluster: name, task: '*', skip, act });
  const say = (error: unknown): unknown => story.push(`  ${what}: ${String(error)}`);
  const failure = (type: string, nonRetryable: boolean) => async (): Promise<void> => {
    throw ApplicationFailure.create({
      message: 'trouble',
      type,
      nonRetryable,
      ...(nonRetryable ? {} : { nextRetryDelay: 50 }),
    });
  };
  switch (what) {
    case 'nothing':
      return undefined;
    case 'fails once':
      return at({ before: failure('Retryable', false) });
    case 'loses its answer':
      return at({ after: failure('Retryable', false) });
    case 'fails for good':
      return at({ before: failure('Auth', true) });
    case 'cancel':
      return at({ before: async () => void (await client.cancel(name).catch(say)) });
    case 'delete':
      return at({ before: async () => void (await client.delete(name).catch(say)) });
    case 'pause':
      return at({ before: async () => void (await client.pause(name).catch(say)) });
    case 'terminate':
      return at({
        before: async () =>
          void (await client.temporal.workflow.getHandle(`cluster/${name}`).terminate('test').catch(say)),
      });
  }
}

/** At the end of every story: all is taken down. */
export async function leave(model: Model, user: User): Promise<void> {
  const { harness, name } = user;
  // A life that was cut off is taken up once more, so that it can be taken down.
  const status = await workflowState(user);
  if (status === 'NONE' || status === 'COMPLETED') {
    expect(harness.cloud.machines(name)).toEqual([]);
    return;
  }
  if (status !== 'RUNNING')
    await ask(model, user, { apply: {} }, { what: 'nothing', skip: 0, then: 'retry' });
  await checkDelete(harness, name, { anyOrder: true });
}
