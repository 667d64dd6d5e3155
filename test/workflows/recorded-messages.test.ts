import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import {
  Client,
  WithStartWorkflowOperation,
  WorkflowNotFoundError,
  type WorkflowClientInterceptor,
} from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { Contract } from '../../src/model/contract.js';
import { packCluster } from '../../src/model/cluster/carry.js';
import { newGroup, type GroupReport, type Instructions } from '../../src/model/cluster/group.js';
import { anyEarlierGroup } from '../../src/model/cluster/numbered.js';
import { numberedSignals } from '../../src/model/messages/taken.js';
import { repeatableStarts } from '../../src/model/messages/start.js';
import { contracts } from '../../src/model/messages/table.js';
import { recipientsOf } from '../../src/client/check-keys.js';
import { sealMessages } from '../../src/client/seal-messages.js';
import { workflowQueue } from '../../src/model/names.js';
import { until } from '../harness/until.js';
import { fullClusterState } from '../harness/workflows/filled-clusters.js';
import {
  countHistory,
  openMessageWorld,
  type MessageWorld,
  type WorkflowType,
} from '../harness/workflows/message-world.js';
import { causeOf } from '../harness/workflows/proper-messages.js';
import { recordedMessages, type RecordedMessage } from '../harness/workflows/repeating-client.js';
import { samples } from '../harness/workflows/sample-messages.js';

let world: MessageWorld;
beforeAll(async () => {
  world = await openMessageWorld(inject('temporalAddress'), inject('workflowBundlePath'));
});
afterAll(() => world.stop());

type Kind = 'update' | 'signal';

/**
 * The messages of a workflow but numbered signals, which have tests of their own. Those that delete come last: then it
 * takes no others.
 */
function messagesOf(type: WorkflowType): readonly { readonly kind: Kind; readonly name: string }[] {
  const { updates, signals } = contracts[type] as Contract;
  const isLast = (name: string): number => Number(/^delete/.test(name));
  const names = Object.keys(updates).toSorted((one, other) => isLast(one) - isLast(other));
  return [
    ...names.map((name) => ({ kind: 'update', name }) as const),
    ...Object.keys(signals)
      .filter((name) => !numberedSignals.includes(name))
      .map((name) => ({ kind: 'signal', name }) as const),
  ];
}

const types = (Object.keys(contracts) as WorkflowType[]).filter((type) => messagesOf(type).length > 0);

/** Updates that a workflow refuses in the state it has here, and why: no history shows them. */
const notRecorded: { readonly [Type in WorkflowType]?: Readonly<Record<string, RegExp>> } = {
  cluster: {
    retry: /holds no failed operation/,
    // It names its operation.
    cancel: /has no operation to cancel/,
    abandon: /has no node/,
    lease: /has no node/,
  },
  pool: {
    request: /is not configured/,
    priority: /has no open request/,
    hold: /has no node/,
    endHold: /has no node/,
    deleteNodes: /has no node/,
    export: /is not configured/,
  },
  machine: { operate: /is busy/ },
  image: {
    build: /has no recipe/,
    cancel: /is not being built/,
    rollback: /has no ready build/,
    upload: /has no ready build/,
    export: /has no recipe/,
  },
  reservations: {
    extend: /reservation r1 does not exist/,
    cancel: /reservation r1 does not exist/,
    return: /reservation r1 does not exist/,
    logIn: /reservation r1 does not exist/,
  },
  artifacts: { set: /resource \S+ does not exist/, rollback: /resource \S+ does not exist/ },
};

/** The message that ends a workflow cannot reach it again. */
const ending: { readonly [Type in WorkflowType]?: string } = { artifactPart: 'drop', revision: 'drop' };

/** A caller without keys sends what a history shows. @returns the refusal of an update. */
async function repeat(type: WorkflowType, { kind, name, args }: RecordedMessage): Promise<string> {
  const handle = world.handle('repeating', type);
  if (kind === 'signal') {
    await handle.signal(name, ...args);
    return '';
  }
  return handle.executeUpdate<unknown, [unknown]>(name, { args: args as [unknown] }).then(
    () => 'it was accepted',
    (error: unknown) => {
      if (error instanceof WorkflowNotFoundError) throw error;
      return causeOf(error);
    },
  );
}

async function isRunning(type: WorkflowType): Promise<boolean> {
  const { status } = await world.handle('proper', type).describe();
  return status.name === 'RUNNING';
}

async function startAnother(type: WorkflowType): Promise<void> {
  const handle = world.handle('proper', type);
  // Some end by themselves.
  await handle.terminate().catch((error: unknown) => {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  });
  await world.start(type);
}

/** What a workflow answers once it has begun what it was started for. */
async function settledState(type: WorkflowType): Promise<unknown> {
  for (let last = await world.stateOf(type); ;) {
    await pause(300);
    const state = await world.stateOf(type);
    if (isDeepStrictEqual(state, last)) return state;
    last = state;
  }
}

/** Sends each message of a workflow, and again; a workflow that does not run any more is started again. */
async function sendAll(type: WorkflowType): Promise<readonly RecordedMessage[]> {
  const sent: RecordedMessage[] = [];
  await startAnother(type);
  for (const { kind, name } of messagesOf(type)) {
    if (!(await isRunning(type))) await world.start(type);
    const refusal = await send(type, kind, name);
    const find = async (): Promise<RecordedMessage | undefined> =>
      (await recordedMessages(world.handle('proper', type))).find(
        (one) => one.kind === kind && one.name === name,
      );
    // A history gets a signal at the end of the workflow task under way.
    const message = kind === 'signal' ? await until(`the signal ${name} is recorded`, find) : await find();
    const reason = notRecorded[type]?.[name];
    if (message === undefined || reason !== undefined) {
      expect(message, name).toBeUndefined();
      expect(refusal, name).toMatch(reason ?? 'it is recorded, or has a reason in this list');
      continue;
    }
    sent.push(message);
    if (ending[type] !== name) await repeatOnce(type, message);
  }
  return sent;
}

/** @returns why an update was refused, if it was. */
async function send(type: WorkflowType, kind: Kind, name: string): Promise<string> {
  const handle = world.handle('proper', type);
  const table: Readonly<Record<string, readonly unknown[]>> = samples[type][`${kind}s`];
  const args = table[name] ?? [];
  if (kind === 'signal') {
    await handle.signal(name, ...args);
    return '';
  }
  const started = handle.startUpdate<unknown, [unknown]>(name, {
    args: args as [unknown],
    waitForStage: 'ACCEPTED',
  });
  return started.then(
    // The answer to an update that waits does not come.
    async (update) => Promise.race([update.result().then(String, causeOf), pause(300, '')]),
    causeOf,
  );
}

/** To the same workflow; again while that goes on by itself, and not when it has ended by itself. */
async function repeatOnce(type: WorkflowType, message: RecordedMessage): Promise<void> {
  const { workflowId } = samples[type];
  const ignored = (): number => world.ignored.filter((id) => id === workflowId).length;
  const repeated = async (): Promise<boolean> => {
    const before = await settledState(type);
    const ignoredBefore = ignored();
    const refusal = await repeat(type, message);
    if (message.kind === 'update') {
      // The end of the workflow is another answer.
      if (await isRunning(type)) expect(refusal, message.name).toMatch(/was accepted before/);
    } else
      await until(
        `the repeated signal ${message.name} is ignored`,
        async () => ignored() > ignoredBefore || !(await isRunning(type)),
      );
    return !(await isRunning(type)) || isDeepStrictEqual(await world.stateOf(type), before);
  };
  await until(`the repeated ${message.kind} ${message.name} changes nothing`, () =>
    repeated().catch((error: unknown) => {
      if (error instanceof WorkflowNotFoundError) return true;
      throw error;
    }),
  );
}

/** The recorded start, with nothing of that name running. */
async function repeatStart(type: WorkflowType, args: readonly unknown[]): Promise<string> {
  const { workflowId } = samples[type];
  const { workflow } = world.clients.repeating;
  await workflow.start(type, { workflowId, taskQueue: workflowQueue, args: [...args] });
  return workflow
    .getHandle(workflowId)
    .result()
    .then(
      () => 'it completed',
      (error: unknown) => causeOf(error),
    );
}

describe.each(types)('a %s workflow', (type) => {
  // Promise: messages-once
  it('takes no recorded message again, of its own or of an earlier workflow of its name', async () => {
    const sent = await sendAll(type);
    await startAnother(type);
    const before = await settledState(type);
    const { workflowId } = samples[type];
    const ignoredBefore = world.ignored.filter((id) => id === workflowId).length;
    for (const message of sent) {
      const refusal = await repeat(type, message);
      if (message.kind === 'update')
        expect(refusal, message.name).toMatch(/was sealed for another workflow of this name/);
    }
    const signals = sent.filter(({ kind }) => kind === 'signal').length;
    await until(`${signals} recorded signals are ignored`, async () => {
      await world.stateOf(type);
      return world.ignored.filter((id) => id === workflowId).length >= ignoredBefore + signals;
    });
    expect(await world.stateOf(type)).toEqual(before);
    expect(await countHistory(world.handle('proper', type))).toMatchObject({
      acceptedUpdates: 0,
      failedTasks: 0,
    });
  });
});

describe.each<WorkflowType>([...types.filter((type) => !repeatableStarts.includes(type)), 'sweep'])(
  'the start of a %s workflow',
  (type) => {
    // Promise: starts-once
    it('is refused when it is repeated after the end of the workflow', async () => {
      await startAnother(type);
      const handle = world.handle('proper', type);
      const [start] = await recordedMessages(handle);
      await handle.terminate();
      expect(await repeatStart(type, start?.args ?? [])).toMatch(
        /an earlier workflow of this name had the same one/,
      );
    });
  },
);

describe('a message that a run has taken', () => {
  const [request] = samples.rateLimiter.updates.take;
  const take = (): Promise<unknown> =>
    world.handle('proper', 'rateLimiter').executeUpdate('take', { args: [request] });
  const renew = async (): Promise<void> => {
    const { runId } = await idsOf('rateLimiter');
    await world.handle('proper', 'rateLimiter').cancel();
    await until('the next run begins', async () => (await idsOf('rateLimiter')).runId !== runId);
  };
  const takenMessage = async (): Promise<RecordedMessage> => {
    await startAnother('rateLimiter');
    await take();
    const messages = await recordedMessages(world.handle('proper', 'rateLimiter'));
    return messages.find(({ name }) => name === 'take') as RecordedMessage;
  };

  it('is refused by further runs, too', async () => {
    const message = await takenMessage();
    await renew();
    await renew();
    expect(await repeat('rateLimiter', message)).toMatch(/was accepted before/);
    expect(await take()).toEqual(expect.any(Number));
  });

  it('is refused by a run that began by a reset, which takes new ones', async () => {
    const message = await takenMessage();
    const { workflowId, runId, firstRunId } = await idsOf('rateLimiter');
    const { events } = await world.handle('proper', 'rateLimiter').fetchHistory();
    const tasks = (events ?? []).filter((event) => event.workflowTaskCompletedEventAttributes);
    const { workflowService, options } = world.clients.proper;
    await workflowService.resetWorkflowExecution({
      namespace: options.namespace,
      workflowExecution: { workflowId, runId },
      reason: 'test',
      requestId: randomUUID(),
      workflowTaskFinishEventId: tasks[0]?.eventId,
    });
    await until('the workflow runs again', async () => (await idsOf('rateLimiter')).runId !== runId);
    expect((await idsOf('rateLimiter')).firstRunId).toBe(firstRunId);
    expect(await take()).toEqual(expect.any(Number));
    expect(await repeat('rateLimiter', message)).toMatch(/was accepted before/);
  });

  it('is answered as before when its client repeats it because the answer was lost', async () => {
    await startAnother('rateLimiter');
    const answers: unknown[] = [];
    const losing: WorkflowClientInterceptor = {
      startUpdate: async (input, next) => {
        const lost = await next(input);
        answers.push(lost.outcome?.success);
        await renew();
        return next(input);
      },
    };
    const workflow = sealingClient(0, losing).workflow.getHandle(samples.rateLimiter.workflowId);
    const answer = await workflow.executeUpdate('take', { args: [request] });
    expect(answer).toEqual(expect.any(Number));
    expect(answers).toEqual([expect.anything()]);
    // Neither taken a second time nor recorded.
    expect(await countHistory(world.handle('proper', 'rateLimiter'))).toMatchObject({ acceptedUpdates: 0 });
  });
});

/** A client whose clock is ahead of the server's, which it could not ask. */
function sealingClient(aheadMs: number, ...more: readonly WorkflowClientInterceptor[]): Client {
  const { connection, options } = world.clients.unsealed;
  const recipients = recipientsOf({ connection, namespace: options.namespace });
  const sealing = sealMessages({ recipients, now: async () => Date.now() + aheadMs });
  return new Client({ ...options, interceptors: { workflow: [sealing, ...more] } });
}

describe('a client that may not describe workflows', () => {
  it('sends an update with a start to a workflow that runs', async () => {
    await startAnother('rateLimiter');
    const { connection, options } = world.clients.unsealed;
    const denied = Object.assign(new Error('denied'), { code: 7, details: 'denied', metadata: {} });
    const workflowService = { describeWorkflowExecution: () => Promise.reject(denied) };
    const recipients = recipientsOf({
      connection: { workflowService } as never,
      namespace: options.namespace,
    });
    const client = new Client({
      ...options,
      connection,
      interceptors: { workflow: [sealMessages({ recipients, now: async () => Date.now() })] },
    });
    const { workflowId, start, updates } = samples.rateLimiter;
    const startWorkflowOperation = new WithStartWorkflowOperation('rateLimiter', {
      workflowId,
      taskQueue: workflowQueue,
      args: [...start],
      workflowIdConflictPolicy: 'USE_EXISTING',
    });
    const answer = await client.workflow.executeUpdateWithStart('take', {
      args: [updates.take[0]],
      startWorkflowOperation,
    });
    expect(answer).toEqual(expect.any(Number));
  });
});

describe('a client whose clock is an hour wrong, and which cannot read that of the server', () => {
  it.each([
    ['ahead', 3_600_000, /by a clock that is ahead of the Temporal server's/],
    ['behind', -3_600_000, /too long ago, or by a clock that is behind the Temporal server's/],
  ])('is told so when it starts a workflow with a message, if it is %s', async (what, aheadMs, why) => {
    const { start, updates } = samples.cluster;
    const startWorkflowOperation = new WithStartWorkflowOperation('cluster', {
      workflowId: `cluster/${what}`,
      taskQueue: workflowQueue,
      args: [...start],
      workflowIdConflictPolicy: 'USE_EXISTING',
    });
    const error: unknown = await sealingClient(aheadMs)
      .workflow.executeUpdateWithStart('apply', { args: [updates.apply[0]], startWorkflowOperation })
      .catch((reason: unknown) => reason);
    expect(String((error as Error).message) + causeOf(error)).toMatch(why);
  });

  it('is told so when it sends a message', async () => {
    await startAnother('rateLimiter');
    const handle = sealingClient(3_600_000).workflow.getHandle(samples.rateLimiter.workflowId);
    const refused: unknown = await handle
      .executeUpdate('take', { args: [samples.rateLimiter.updates.take[0]] })
      .catch((reason: unknown) => reason);
    expect(causeOf(refused)).toMatch(/by a clock that is ahead of the Temporal server's/);
  });
});

describe('a numbered signal', () => {
  /** Whether a workflow takes a signal; its answer to the update comes after the signal. */
  const isTaken = async (
    type: 'group' | 'cluster',
    name: string,
    signal: Instructions | GroupReport,
  ): Promise<boolean> => {
    const ignored = (): number => world.ignored.filter((id) => id === samples[type].workflowId).length;
    const before = ignored();
    await world.handle('proper', type).signal(name, signal);
    if (type === 'cluster') await world.handle('proper', type).executeUpdate('check');
    else await world.handle('proper', type).executeUpdate('disown', { args: [[]] });
    return ignored() === before;
  };
  const [instructions] = samples.group.signals.instruct as readonly [Instructions];
  const instruct = (more: Partial<Instructions>): Promise<boolean> =>
    isTaken('group', 'instruct', { ...instructions, list: [], ...more });

  it('acts once on the group that it was sent to, and on no later one', async () => {
    await startAnother('group');
    const now = Date.now();
    expect(await instruct({ seq: 2, at: now })).toBe(true);
    expect(await instruct({ seq: 2, at: now })).toBe(false);
    expect(await instruct({ seq: 1, at: now - 1 })).toBe(false);
    expect(await instruct({ seq: 3, at: now })).toBe(true);
    expect(await instruct({ groupUid: 'another', seq: 4, at: now })).toBe(false);
    const handle = world.handle('proper', 'group');
    await handle.signal('instruct', { ...instructions, seq: 4 });
    await handle.result();
    const recorded = (await recordedMessages(handle)).filter(({ kind }) => kind === 'signal');

    const { workflowId, start } = samples.group;
    const args = start.map((input) => ({ ...(input as object), uid: 'later' }));
    await world.clients.proper.workflow.start('group', { workflowId, taskQueue: workflowQueue, args });
    const before = world.ignored.length;
    for (const message of recorded) await repeat('group', message);
    await until('all are ignored', () => world.ignored.length === before + recorded.length);
    expect(await instruct({ groupUid: 'later' })).toBe(true);
    const end = { groupUid: anyEarlierGroup, seq: 0, list: instructions.list };
    expect(await instruct({ ...end, at: Date.now() - 3_600_000 })).toBe(false);
    await handle.signal('instruct', { ...instructions, ...end, at: Date.now() + 1_000 });
    expect(await handle.result()).toContain('no longer has nodes');
  });

  it('that ends a group of a run that a reset cut off ends no later group of the same cluster', async () => {
    await startAnother('group');
    const end = { ...instructions, groupUid: anyEarlierGroup, seq: 0 };
    const handle = world.handle('proper', 'group');
    await handle.signal('instruct', { ...end, at: Date.now() + 1_000 });
    expect(await handle.result()).toContain('no longer has nodes');
    await startAnother('group');
    expect(await instruct({ groupUid: anyEarlierGroup, seq: 0, at: Date.now() - 10_000 })).toBe(false);
    expect(await instruct({ seq: 1, at: Date.now() })).toBe(true);
  });

  it('of a group is taken once, by the cluster that it names', async () => {
    const handle = world.handle('proper', 'cluster');
    if (await isRunning('cluster').catch(() => false)) await handle.terminate();
    const full = fullClusterState();
    const groups = { 1: { ...newGroup, uid: 'group', sent: 1, members: full.groups[1]?.members ?? {} } };
    const carried = packCluster({ ...full, groups, nodes: {}, history: [] });
    const { workflowId } = samples.cluster;
    const args = [{ carried }];
    await world.clients.proper.workflow.start('cluster', { workflowId, taskQueue: workflowQueue, args });
    const [sample] = samples.cluster.signals.report as readonly [GroupReport];
    const report = (more: Partial<GroupReport>): Promise<boolean> =>
      isTaken('cluster', 'report', { ...sample, groupUid: 'group', ...more });
    expect(await report({ seq: 2, at: 5 })).toBe(true);
    expect(await report({ seq: 2, at: 5 })).toBe(false);
    expect(await report({ seq: 1, at: 5 })).toBe(false);
    expect(await report({ seq: 3, at: 6, groupUid: 'earlier' })).toBe(false);
    expect(await report({ seq: 3, at: 6 })).toBe(true);
  });
});

async function idsOf(
  type: WorkflowType,
): Promise<{ readonly workflowId: string; readonly runId: string; readonly firstRunId?: string }> {
  const { workflowId, runId, raw } = await world.handle('proper', type).describe();
  return { workflowId, runId, firstRunId: raw.workflowExecutionInfo?.firstRunId ?? undefined };
}
