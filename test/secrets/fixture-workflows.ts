import {
  ApplicationFailure,
  condition,
  defineQuery,
  defineSignal,
  defineUpdate,
  executeChild,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  upsertMemo,
  workflowInfo,
} from '@temporalio/workflow';
import { isEnvelope, openMessage } from '../../src/model/messages/envelope.js';
import { readRefusal } from '../../src/model/messages/refusal.js';

/** What a test's activities are given and give; each field holds a canary. */
export interface Activities {
  work(input: string): Promise<string>;
  fail(input: string): Promise<void>;
}

const { work, fail } = proxyActivities<Activities>({
  startToCloseTimeout: '20 s',
  heartbeatTimeout: '30 s',
  retry: { maximumAttempts: 2, initialInterval: '100 ms' },
  summary: 'canary-activity-summary',
});

export const finishSignal = defineSignal<[string]>('finish');
export const addUpdate = defineUpdate<string, [string]>('add');
export const stateQuery = defineQuery<string>('state');

/** Sends a canary through every way that a workflow has. */
export async function everyWay(input: string): Promise<string> {
  let finished = '';
  const added: string[] = [];
  setHandler(finishSignal, (text) => {
    finished = text;
  });
  setHandler(addUpdate, (text) => {
    added.push(text);
    return `canary-update-result ${text}`;
  });
  setHandler(stateQuery, () => `canary-query ${added.join()}`);
  setCurrentDetails('canary-current-details');
  upsertMemo({ later: 'canary-memo-later' });
  const result = await work(`canary-activity-input ${input}`);
  await fail('canary-activity-input').catch((error: unknown) => added.push(messageOf(error)));
  await executeChild(failingChild, {
    workflowId: `${workflowInfo().workflowId}-child`,
    args: ['canary-child-input'],
    memo: { child: 'canary-memo-child' },
  }).catch((error: unknown) => added.push(messageOf(error)));
  await condition(() => finished !== '');
  return `canary-result ${result} ${finished} ${added.join()}`;
}

export async function failingChild(input: string): Promise<void> {
  throw ApplicationFailure.create({
    message: `canary-child-failure ${input}`,
    type: 'Visible',
    nonRetryable: true,
    details: ['canary-child-detail'],
  });
}

/** Refuses what the codec refused, and opens envelopes, as Heddle's workflows do. */
export async function careful(input: unknown): Promise<string> {
  const refusal = readRefusal(input);
  if (refusal !== undefined) throw ApplicationFailure.nonRetryable(refusal, 'Invalid');
  if (!isEnvelope(input)) return `took ${JSON.stringify(input)}`;
  const opened = openMessage('start careful', [input], Date.now());
  if (!opened.ok) throw ApplicationFailure.nonRetryable(opened.why, 'Invalid');
  return `took ${JSON.stringify(opened.args[0])}`;
}

function messageOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message : String(cause);
}
