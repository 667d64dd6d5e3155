import { WithStartWorkflowOperation, type Client } from '@temporalio/client';
import { beforeAll, describe, expect, it } from 'vitest';
import { clusterWorkflowId, clusterWorkflowType, workflowQueue } from '../../src/model/names.js';
import { startStack, type Stack } from '../harness/stack.js';
import { openLedger, type Ledger } from '../harness/workflows/ledger.js';
import {
  recordedMessages,
  repeatingClient,
  type RecordedMessage,
} from '../harness/workflows/repeating-client.js';
import { closed, nodes } from '../harness/workflows/spec.js';

let stack: Stack;
let ledger: Ledger;
/** Of a caller without keys, who reads histories. */
let attacker: Client;
beforeAll(async () => {
  stack = await startStack();
  ledger = openLedger(stack.folder);
  await stack.startWorker();
  const { connection, options } = stack.client.temporal;
  attacker = repeatingClient(connection as never, options.namespace);
});

const name = 'web';
const workflowId = clusterWorkflowId(name);
const spec = (): ReturnType<typeof closed> =>
  closed({
    name,
    nodes: { app: nodes(1, ['app']) },
    services: { app: { actions: { install: ledger.script() } } },
  });

async function done(accepted: Promise<{ readonly operation: string }>): Promise<void> {
  const { operation } = await accepted;
  expect((await stack.client.waitFor(name, operation)).operation).toMatchObject({ state: 'done' });
}

async function deleted(): Promise<void> {
  await stack.client.delete(name);
  await stack.client.temporal.workflow.getHandle(workflowId).result();
}

/** Without the keys the sender cannot read the answer: the history shows whether the workflow took it. */
async function repeat({ kind, name: message, args }: RecordedMessage): Promise<void> {
  const handle = attacker.workflow.getHandle(workflowId);
  if (kind === 'signal') await handle.signal(message, ...args);
  else
    await handle.startUpdate<unknown, [unknown]>(message, {
      args: args as [unknown],
      waitForStage: 'ACCEPTED',
    });
}

const recordedOf = (): Promise<readonly RecordedMessage[]> =>
  recordedMessages(stack.client.temporal.workflow.getHandle(workflowId));

describe('a caller without keys who sends recorded messages again', () => {
  it('has no command executed again, deletes no later cluster of the name, and creates none', async () => {
    await done(stack.client.apply(spec()));
    await done(stack.client.operate(name, { kind: 'exec', command: `echo exec >>${stack.folder}/ledger` }));
    const first = await recordedOf();
    expect(first.map(({ kind, name: message }) => `${kind} ${message}`)).toEqual([
      'start cluster',
      'update apply',
      'update operate',
    ]);
    await Promise.all(first.slice(1).map(repeat));
    expect(await recordedOf()).toEqual(first);
    // A later operation: whatever was accepted before is over.
    await done(stack.client.apply(spec()));
    expect(await ledger.lines('exec')).toHaveLength(1);

    await deleted();
    const ended = await recordedOf();
    const [start, apply] = ended;
    const remove = ended.find(({ name: message }) => message === 'delete');
    const made = (await stack.service.journal('create')).length;
    await repeatStartAndUpdate(start, apply);
    const repeated = stack.client.temporal.workflow.getHandle(workflowId);
    const cause = { message: expect.stringMatching(/^the start was/) };
    await expect(repeated.result()).rejects.toMatchObject({ cause });
    expect(await stack.service.machines()).toEqual([]);
    expect(await stack.service.journal('create')).toHaveLength(made);

    await done(stack.client.apply(spec()));
    const second = await recordedOf();
    expect(remove?.name).toBe('delete');
    if (remove !== undefined) await repeat(remove);
    expect(await recordedOf()).toEqual(second);
    expect((await stack.client.summary(name)).nodes).toMatchObject([{ state: 'ready' }]);
    expect(await ledger.lines('exec')).toHaveLength(1);
  });
});

async function repeatStartAndUpdate(
  start: RecordedMessage | undefined,
  update: RecordedMessage | undefined,
): Promise<void> {
  const options = { workflowId, taskQueue: workflowQueue, args: [...(start?.args ?? [])] };
  const startWorkflowOperation = new WithStartWorkflowOperation(clusterWorkflowType, {
    ...options,
    workflowIdConflictPolicy: 'USE_EXISTING',
  });
  await attacker.workflow
    .executeUpdateWithStart(update?.name ?? '', {
      args: (update?.args ?? []) as [unknown],
      startWorkflowOperation,
    })
    .catch(() => undefined);
}
