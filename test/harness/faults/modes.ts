import { ApplicationFailure } from '@temporalio/common';
import { expect } from 'vitest';
import { askFor, type OperationCase } from './operations.js';
import { checkAtRest, checkDelete, checkDeleted, checkWhole } from './oracle.js';
import type { Harness } from './harness.js';
import type { TaskName } from './points.js';

/** What goes wrong at a task. */
export type Mode = (typeof modes)[number];
export const modes = [
  'fails once',
  'loses its answer',
  'fails for good',
  'is cancelled',
  'is done although cancelled',
  'is met by delete',
  'is done although delete came',
  'ends its run',
] as const;

export interface SweepCase {
  readonly name: string;
  readonly operation: OperationCase;
  readonly task: TaskName;
  readonly mode: Mode;
}

/**
 * Brings the cluster to where the operation begins, asks for it with the point armed, and checks what came of
 * it.
 */
export async function play(harness: Harness, { name, operation, task, mode }: SweepCase): Promise<void> {
  const { client } = harness;
  for (const ask of operation.before) {
    expect((await harness.waitFor(name, await askFor(client, name, ask))).operation.state).toBe('done');
  }
  const outcome = await players[mode](harness, name, operation, task);
  expect(harness.points.isMet(name), `${task} was met`).toBe(true);
  if (outcome === 'deleted') return;
  checkWhole(harness, await checkAtRest(harness, name, { anyOrder: anyOrder.includes(mode) }));
  await checkDelete(harness, name, { anyOrder: anyOrder.includes(mode) });
}

const anyOrder: readonly Mode[] = ['fails for good'];

type Outcome = 'whole' | 'deleted';
type Player = (harness: Harness, name: string, operation: OperationCase, task: TaskName) => Promise<Outcome>;

const players: Readonly<Record<Mode, Player>> = {
  'fails once': (harness, name, operation, task) =>
    retried(harness, name, operation, {
      task,
      before: async () => {
        throw ApplicationFailure.create({
          message: 'the network is down',
          type: 'Retryable',
          nextRetryDelay: 50,
        });
      },
    }),
  'loses its answer': (harness, name, operation, task) =>
    retried(harness, name, operation, {
      task,
      after: async () => {
        throw ApplicationFailure.create({
          message: 'the answer was lost',
          type: 'Retryable',
          nextRetryDelay: 50,
        });
      },
    }),
  'fails for good': failForGood,
  'is cancelled': (harness, name, operation, task) => cancelled(harness, name, operation, task, 'ended'),
  'is done although cancelled': (harness, name, operation, task) =>
    cancelled(harness, name, operation, task, 'goes on'),
  'is met by delete': (harness, name, operation, task) => deleted(harness, name, operation, task, 'ended'),
  'is done although delete came': (harness, name, operation, task) =>
    deleted(harness, name, operation, task, 'goes on'),
  'ends its run': renewed,
};

interface Retried {
  readonly task: TaskName;
  readonly before?: () => Promise<void>;
  readonly after?: () => Promise<void>;
}

async function finishAndCheck(
  harness: Harness,
  name: string,
  operation: OperationCase,
  id: string,
  anyOrderNow = false,
): Promise<Outcome> {
  if ('remove' in operation.ask) {
    await checkDeleted(harness, name, id, { anyOrder: anyOrderNow });
    return 'deleted';
  }
  const ended = await harness.waitFor(name, id);
  expect(ended.operation, JSON.stringify(ended.operation)).toMatchObject({ state: 'done' });
  return 'whole';
}

async function retried(
  harness: Harness,
  name: string,
  operation: OperationCase,
  { task, ...act }: Retried,
): Promise<Outcome> {
  harness.points.arm({ cluster: name, task, act });
  return finishAndCheck(harness, name, operation, await askFor(harness.client, name, operation.ask));
}

/** What does not depend on it is done; after the mending it is carried out from there. */
async function failForGood(
  harness: Harness,
  name: string,
  operation: OperationCase,
  task: TaskName,
): Promise<Outcome> {
  const { client, points } = harness;
  const kind =
    task.includes(' - ') && !task.endsWith('EXEC') && !task.endsWith('BOOTSTRAP') ? 'Auth' : 'ScriptFailed';
  points.arm({
    cluster: name,
    task,
    act: {
      before: async () => {
        throw ApplicationFailure.nonRetryable('it is broken', kind);
      },
    },
  });
  const id = await askFor(client, name, operation.ask);
  const first = await harness.waitFor(name, id);
  // Planning goes on without a look at machines that cannot be looked at.
  if (operation.tolerated?.includes(task) === true || task === 'PROBE_NODES')
    return finishAndCheck(harness, name, operation, id, true);
  if (operation.name === 'exec') {
    expect(first.operation.state).toBe('failed');
    return finishAndCheck(harness, name, operation, await askFor(client, name, operation.ask));
  }
  expect(first.operation, JSON.stringify(first.operation)).toMatchObject({ state: 'held' });
  await checkAtRest(harness, name, { anyOrder: true });
  await client.retry(name);
  return finishAndCheck(harness, name, operation, id, true);
}

type Ending = 'ended' | 'goes on';

/**
 * Asks for something while the task waits at its beginning; then the task hears of it, or is done before it
 * could.
 */
function interrupt(
  harness: Harness,
  name: string,
  task: TaskName,
  ending: Ending,
  ask: () => Promise<unknown>,
): void {
  harness.points.arm({
    cluster: name,
    task,
    act: {
      before: async (context) => {
        await ask();
        if (ending === 'goes on') return;
        const beat = setInterval(() => context.heartbeat('waits'), 50);
        // Planning and looking are not cancelled: what they say is not listened to any more.
        const deaf = !task.includes(' ');
        await (deaf
          ? Promise.resolve()
          : new Promise((resolve) => {
              if (context.cancellationSignal.aborted) resolve(undefined);
              context.cancellationSignal.addEventListener('abort', resolve, { once: true });
            }));
        clearInterval(beat);
      },
    },
  });
}

async function cancelled(
  harness: Harness,
  name: string,
  operation: OperationCase,
  task: TaskName,
  ending: Ending,
): Promise<Outcome> {
  const { client } = harness;
  interrupt(harness, name, task, ending, () => client.cancel(name));
  const id = await askFor(client, name, operation.ask);
  const first = await harness.waitFor(name, id);
  expect(first.operation, JSON.stringify(first.operation)).toMatchObject({ state: 'cancelled' });
  await checkAtRest(harness, name);
  return finishAndCheck(
    harness,
    name,
    operation,
    await askFor(client, name, operation.again ?? operation.ask),
  );
}

async function deleted(
  harness: Harness,
  name: string,
  operation: OperationCase,
  task: TaskName,
  ending: Ending,
): Promise<Outcome> {
  const { client } = harness;
  let deletion = '';
  // A delete joins the one that is under way: nothing is cancelled.
  interrupt(harness, name, task, 'remove' in operation.ask ? 'goes on' : ending, async () => {
    deletion = (await client.delete(name)).operation ?? '';
  });
  const id = await askFor(client, name, operation.ask);
  const first = await harness.waitFor(name, id);
  expect(first.operation, JSON.stringify(first.operation)).toMatchObject({
    state: 'remove' in operation.ask ? 'done' : 'superseded',
  });
  await checkDeleted(harness, name, deletion);
  return 'deleted';
}

/**
 * Messages that change nothing make the history long enough for continue-as-new while the task is under way.
 */
async function renewed(
  harness: Harness,
  name: string,
  operation: OperationCase,
  task: TaskName,
): Promise<Outcome> {
  const { client, points } = harness;
  points.arm({
    cluster: name,
    task,
    act: {
      before: async ({ info }) => {
        const handle = client.temporal.workflow.getHandle(info.workflowExecution?.workflowId ?? '');
        await Promise.all(Array.from({ length: longHistory }, () => handle.signal('nothing')));
      },
    },
  });
  return finishAndCheck(harness, name, operation, await askFor(client, name, operation.ask));
}

/** More events than the server of these tests lets a history have before it suggests to continue as new. */
export const longHistory = 60;
