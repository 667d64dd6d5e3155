import {
  ActivityFailure,
  ApplicationFailure,
  ChildWorkflowFailure,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  defineUpdate,
  executeChild,
  getExternalWorkflowHandle,
  proxyActivities,
  proxyLocalActivities,
  setHandler,
  startChild,
  upsertMemo,
  workflowInfo,
} from '@temporalio/workflow';

/** Activities of a worker that has the keys. */
export interface Activities {
  echo(value: unknown): Promise<unknown>;
  fail(value: unknown): Promise<void>;
  /** Fails once with a heartbeat, and then returns the details of that heartbeat. */
  resume(value: unknown): Promise<unknown>;
  /** Sends a heartbeat and never ends. */
  hang(value: unknown): Promise<void>;
  /** Completed by the test through the client. */
  completeLater(): Promise<unknown>;
}

const retry = { maximumAttempts: 2, initialInterval: '100 ms' } as const;
const { echo, fail, resume, completeLater } = proxyActivities<Activities>({
  startToCloseTimeout: '5 minutes',
  retry,
});
const { hang } = proxyActivities<Activities>({ startToCloseTimeout: '2 s', retry: { maximumAttempts: 1 } });
const { echo: echoHere } = proxyLocalActivities<Activities>({ startToCloseTimeout: '1 minute' });

export const takeSignal = defineSignal<[unknown]>('take');
export const takeUpdate = defineUpdate<unknown, [unknown]>('take');
export const takeQuery = defineQuery<unknown, [unknown]>('take');
export const endSignal = defineSignal<[]>('end');

/** Passes a value along every path on which Temporal carries payloads, and returns what arrived. */
export async function everyPath(
  input: unknown,
  wasContinued = false,
): Promise<Readonly<Record<string, unknown>>> {
  if (!wasContinued) await continueAsNew<typeof everyPath>(input, true);
  const arrived: Record<string, unknown> = { input, memo: workflowInfo().memo?.['first'] };
  setHandler(takeSignal, (value) => {
    arrived['signal'] = value;
  });
  setHandler(takeUpdate, (value) => (arrived['update'] = value));
  setHandler(takeQuery, (value) => ({ value }));
  upsertMemo({ later: 'memo-later' });
  arrived['activity'] = await echo('activity');
  arrived['local'] = await echoHere('local');
  arrived['failure'] = await fail('failure').catch(readFailure);
  arrived['heartbeat'] = await resume('heartbeat');
  arrived['timeout'] = await hang('timeout').catch(readFailure);
  arrived['asynchronous'] = await completeLater();
  const { workflowId } = workflowInfo();
  const child = await startChild(relay, {
    workflowId: `${workflowId}/child`,
    args: ['child-input'],
    memo: { first: 'child-memo' },
  });
  await child.signal(takeSignal, 'child-signal');
  await getExternalWorkflowHandle(`${workflowId}/child`).signal(endSignal);
  arrived['child'] = await child.result();
  arrived['childFailure'] = await executeChild(failing, {
    workflowId: `${workflowId}/failing`,
    args: ['child-failure'],
  }).catch(readFailure);
  await condition(() => 'signal' in arrived && 'update' in arrived);
  return arrived;
}

/** Returns what it was sent. */
export async function relay(input: unknown): Promise<unknown> {
  let taken: unknown;
  let ended = false;
  setHandler(takeSignal, (value) => {
    taken = value;
  });
  setHandler(endSignal, () => {
    ended = true;
  });
  await condition(() => ended && taken !== undefined);
  return { input, taken, memo: workflowInfo().memo?.['first'] };
}

export async function failing(input: unknown): Promise<void> {
  throw ApplicationFailure.create({ message: 'failing', nonRetryable: true, details: [input] });
}

export async function scheduled(input: unknown): Promise<unknown> {
  const { memo, lastResult } = workflowInfo();
  return { input, memo: memo?.['first'], before: lastResult };
}

/**
 * Returns its input, its memo and all messages, activity results and child results that an attacker sent it.
 */
export async function target(input: unknown, attempts: number): Promise<readonly unknown[]> {
  const { workflowId, memo } = workflowInfo();
  const taken: unknown[] = [input, memo?.['first']];
  let ended = false;
  setHandler(takeSignal, (value) => {
    taken.push(value);
  });
  setHandler(takeUpdate, (value) => {
    taken.push(value);
  });
  setHandler(takeQuery, (value) => value);
  setHandler(endSignal, () => {
    ended = true;
  });
  const stolen = proxyActivities<Activities>({
    taskQueue: 'attacker',
    startToCloseTimeout: '5 minutes',
    retry: { maximumAttempts: 1 },
  });
  const beaten = proxyActivities<Activities>({
    taskQueue: 'heartbeats',
    startToCloseTimeout: '5 minutes',
    retry: { initialInterval: '1 s', backoffCoefficient: 1 },
  });
  for (let index = 0; index < attempts; index += 1) {
    taken.push(await stolen.echo(index).catch(readFailure));
    taken.push(await stolen.fail(index).catch(readFailure));
    const options = { workflowId: `${workflowId}/child/${index}`, taskQueue: 'attacker' };
    taken.push(await executeChild('stolen', options).catch(readFailure));
  }
  taken.push(
    ...(await Promise.all(
      Array.from({ length: attempts }, (_, index) => beaten.echo(index).catch(readFailure)),
    )),
  );
  await condition(() => ended);
  return taken;
}

function readFailure(error: unknown): unknown {
  const cause =
    error instanceof ActivityFailure || error instanceof ChildWorkflowFailure ? error.cause : undefined;
  if (cause instanceof ApplicationFailure) return { message: cause.message, details: cause.details ?? [] };
  if (cause !== undefined && 'lastHeartbeatDetails' in cause) return { timeout: cause.lastHeartbeatDetails };
  return { error: String(error) };
}
