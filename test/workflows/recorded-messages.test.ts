import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { WorkflowMessages } from '../../src/model/messages/argument-shapes.js';
import { sealMessage } from '../../src/model/messages/envelope.js';
import { harmless } from '../../src/model/messages/start.js';
import { messageTable } from '../../src/model/messages/table.js';
import { workflowQueue } from '../../src/model/names.js';
import { until } from '../harness/until.js';
import {
  countHistory,
  openMessageWorld,
  type MessageWorld,
  type WorkflowType,
} from '../harness/workflows/message-world.js';
import { causeOf, proofs } from '../harness/workflows/proper-messages.js';
import { recordedMessages, type RecordedMessage } from '../harness/workflows/repeating-client.js';
import { samples } from '../harness/workflows/sample-messages.js';

let world: MessageWorld;
beforeAll(async () => {
  world = await openMessageWorld(inject('temporalAddress'), inject('workflowBundlePath'));
});
afterAll(() => world.stop());

const types = (Object.keys(messageTable) as WorkflowType[]).filter((type) => proofs[type] !== undefined);

/** A caller without keys sends what a history shows. @returns the refusal of an update. */
async function repeat(type: WorkflowType, { kind, name, args }: RecordedMessage): Promise<string> {
  const handle = world.handle('repeating', type);
  if (kind === 'signal') {
    await handle.signal(name, ...args);
    return '';
  }
  return handle.executeUpdate<unknown, [unknown]>(name, { args: args as [unknown] }).then(
    () => 'it was accepted',
    (error: unknown) => causeOf(error),
  );
}

async function isRunning(type: WorkflowType): Promise<boolean> {
  const { status } = await world.handle('proper', type).describe();
  return status.name === 'RUNNING';
}

async function startAnother(type: WorkflowType): Promise<void> {
  const handle = world.handle('proper', type);
  if (await isRunning(type).catch(() => false)) await handle.terminate();
  await world.start(type);
}

/** Sends each message of a workflow; one that does not run any more is started again. */
async function sendAll(type: WorkflowType): Promise<readonly RecordedMessage[]> {
  const { updates, signals } = messageTable[type] as WorkflowMessages;
  const sampleOf = (table: 'updates' | 'signals', name: string): readonly unknown[] =>
    (samples[type][table] as Readonly<Record<string, readonly unknown[]>>)[name] ?? [];
  const sent: RecordedMessage[] = [];
  await startAnother(type);
  for (const [kind, names] of [
    ['signal', Object.keys(signals)],
    ['update', Object.keys(updates)],
  ] as const) {
    for (const name of names) {
      if (!(await isRunning(type))) await world.start(type);
      const handle = world.handle('proper', type);
      const args = sampleOf(`${kind}s`, name);
      if (kind === 'signal') await handle.signal(name, ...args);
      else
        await handle.startUpdate<unknown, [unknown]>(name, {
          args: args as [unknown],
          waitForStage: 'ACCEPTED',
        });
      const message = (await recordedMessages(handle)).find((one) => one.kind === kind && one.name === name);
      // The workflow may refuse the sample in its present state: then the history does not show it.
      if (message === undefined) continue;
      sent.push(message);
      await repeatOnce(type, message);
    }
  }
  return sent;
}

/** To the same workflow, as far as it still runs. */
async function repeatOnce(type: WorkflowType, message: RecordedMessage): Promise<void> {
  if (!(await isRunning(type))) return;
  const { workflowId } = samples[type];
  const before = await world.stateOf(type).catch(() => undefined);
  const ignoredBefore = world.ignored.filter((id) => id === workflowId).length;
  const refusal = await repeat(type, message).catch(String);
  if (before === undefined || !(await isRunning(type))) return;
  if (message.kind === 'update') expect(refusal, message.name).toMatch(/was taken before/);
  else
    await until(
      `the repeated signal ${message.name} is ignored`,
      () => world.ignored.filter((id) => id === workflowId).length > ignoredBefore,
    );
  expect(await world.stateOf(type), message.name).toEqual(before);
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
    expect(sent).not.toEqual([]);
    await startAnother(type);
    const before = await world.stateOf(type);
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

describe.each<WorkflowType>([...types.filter((type) => !harmless.includes(type)), 'sweep'])(
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
  it('of another workflow is refused by its number, by further runs, too', async () => {
    await startAnother('cluster');
    const { workflowId } = samples.cluster;
    const { from, sample } = { from: randomUUID(), sample: samples.cluster.signals.readOutputs };
    const ignored = (): number => world.ignored.filter((id) => id === workflowId).length;
    const before = ignored();
    const send = async (count: number): Promise<void> => {
      const seal = { from, count, at: Date.now() };
      const [envelope] = sealMessage('signal readOutputs', sample, seal);
      await world.handle('unsealed', 'cluster').signal('readOutputs', envelope);
    };
    for (const count of [2, 2, 1, 1, 3]) await send(count);
    await until('two are ignored', () => ignored() === before + 2);
    const { runId } = await world.handle('proper', 'cluster').describe();
    await world.handle('proper', 'cluster').cancel();
    await until(
      'the next run begins',
      async () => (await world.handle('proper', 'cluster').describe()).runId !== runId,
    );
    for (const count of [1, 2, 3, 4]) await send(count);
    await until('three more are ignored', () => ignored() === before + 5);
    await world.handle('proper', 'cluster').executeUpdate('check');
    expect(ignored()).toBe(before + 5);
  });

  it('of a client is refused by a further run, too', async () => {
    await startAnother('cluster');
    const handle = world.handle('proper', 'cluster');
    await handle.executeUpdate('check');
    const message = (await recordedMessages(handle)).find(({ name }) => name === 'check');
    const { runId } = await handle.describe();
    await handle.cancel();
    await until('the next run begins', async () => (await handle.describe()).runId !== runId);
    expect(message && (await repeat('cluster', message))).toMatch(/was taken before/);
  });

  it('of a client is refused by a run that began by a reset, which takes new ones', async () => {
    await startAnother('cluster');
    const handle = world.handle('proper', 'cluster');
    await handle.executeUpdate('check');
    const message = (await recordedMessages(handle)).find(({ name }) => name === 'check');
    const { workflowId, runId, firstRunId } = await idsOf('cluster');
    const { namespace } = world.clients.proper.options;
    const { events } = await handle.fetchHistory();
    const tasks = (events ?? []).filter((event) => event.workflowTaskCompletedEventAttributes);
    await world.clients.proper.workflowService.resetWorkflowExecution({
      namespace,
      workflowExecution: { workflowId, runId },
      reason: 'test',
      requestId: randomUUID(),
      workflowTaskFinishEventId: tasks[0]?.eventId,
    });
    await until('the workflow runs again', async () => (await idsOf('cluster')).runId !== runId);
    expect((await idsOf('cluster')).firstRunId).toBe(firstRunId);
    expect(await handle.executeUpdate('check')).toEqual(expect.any(Number));
    expect(message && (await repeat('cluster', message))).toMatch(/was taken before/);
  });
});

async function idsOf(
  type: WorkflowType,
): Promise<{ readonly workflowId: string; readonly runId: string; readonly firstRunId?: string }> {
  const { workflowId, runId, raw } = await world.handle('proper', type).describe();
  return { workflowId, runId, firstRunId: raw.workflowExecutionInfo?.firstRunId ?? undefined };
}
