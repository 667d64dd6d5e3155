import { CancellationScope, workflowInfo, type ActivateInput, type Headers } from '@temporalio/workflow';
import { keyLabel, unopenedLabel } from '../model/messages/payload-label.js';
import { schedule } from './schedule.js';

/** The key of a payload. */
export interface PayloadKey {
  readonly id: string;
  /** Why this worker could not open the payload. */
  readonly unopened?: string;
}

/**
 * A history cannot tell which keys a worker had, so what a workflow does must not depend on them: a worker
 * that has another ring replays the same history. These rules make it so (docs/decisions/0037):
 * - The key of its start is the workflow's own. Signals and results under it are always taken.
 * - Under any other key, the activity FIND_KEY is asked first, and its outcome is part of the history.
 * - What was taken must be opened. A worker that cannot fails the task, which another worker repeats.
 * Each run of a workflow has its own instance of this module.
 */
let ownKey: string | undefined;
const keysOfResults = new Map<string, PayloadKey>();
const lookups = new Set<number>();
let unopened: UnopenedError | undefined;

/**
 * Signals under other keys than the workflow's own that one run looks up; the server limits
 * pending activities.
 */
const maxForeignSignals = 500;
let foreignSignals = 0;
/** Signals under one key are handled in the order of their arrival. */
const lastOfKey = new Map<string, Promise<boolean>>();

/** Fails the workflow task. */
class UnopenedError extends Error {
  override readonly name = 'UnopenedError';

  constructor(why: string) {
    super(`This workflow task waits for a key. ${why}`);
  }
}

type Job = NonNullable<ActivateInput['activation']['jobs']>[number];

const header = 'heddle-payload-key';

/** Notes the keys of what an activation brings. @throws UnopenedError */
export function notePayloadKeys(jobs: readonly Job[]): void {
  for (const job of jobs) {
    const message = job.initializeWorkflow ?? job.signalWorkflow ?? job.doUpdate;
    if (message) {
      const { arguments: start, input = start } = message as {
        readonly arguments?: readonly Payload[] | null;
        readonly input?: readonly Payload[] | null;
      };
      const key = keyOf(input ?? []);
      if (job.initializeWorkflow) ownKey = key?.id;
      // Without a validator to run, the update is part of the history: a worker has opened and accepted it.
      if (job.doUpdate && job.doUpdate.runValidator !== true) requireOpen(key);
      message.headers = { ...message.headers, [header]: toHeader(key) };
    }
    noteResult('activity', job.resolveActivity);
    noteResult('child', job.resolveChildWorkflowExecution);
  }
}

/** For workflows that are not Heddle's: no payload may be left unopened. @throws UnopenedError */
export function requireAllOpen(jobs: readonly Job[]): void {
  for (const job of jobs) requireOpen(keyOf(payloadsIn(job)));
}

/** Fails the workflow task if the workflow waits for a key. @throws UnopenedError */
export function failIfUnopened(): void {
  if (unopened !== undefined) throw unopened;
}

export function noteKeyLookup(seq: number): void {
  lookups.add(seq);
}

export function keyOfMessage(headers: Headers): PayloadKey | undefined {
  const data = headers[header]?.data;
  if (data === undefined || data === null || data.length === 0) return undefined;
  const text = textOf(data);
  const [id = '', ...why] = text.split(' ');
  return why.length === 0 ? { id } : { id, unopened: why.join(' ') };
}

/**
 * For the start of a workflow. The first start by an unknown key fails, so that the name is
 * free again; a run that a worker of this installation has started waits for the key.
 * @throws UnopenedError
 */
export function requireOpenStart(key: PayloadKey | undefined): void {
  const { firstExecutionRunId, runId, parent, unsafe } = workflowInfo();
  if (firstExecutionRunId !== runId || parent !== undefined || unsafe.isReplaying) requireOpen(key);
}

/** Why a signal must be ignored, as a promise only if its key has to be found. @throws UnopenedError */
export function refusalOfSignal(key: PayloadKey | undefined): undefined | Promise<string | undefined> {
  if (key === undefined || key.id === ownKey) return requireOpen(key);
  foreignSignals += 1;
  if (foreignSignals > maxForeignSignals)
    return Promise.resolve(
      `more than ${maxForeignSignals} signals were encrypted with other keys than ${ownKey ?? ''}`,
    );
  const before = lastOfKey.get(key.id);
  const found = Promise.all([findKey(key.id), before]).then(([isFound]) => isFound);
  lastOfKey.set(key.id, found);
  return found.then((isFound) => (isFound ? requireOpen(key) : unknownKey(key.id)));
}

/** Why a result must be refused; undefined if it is used. Never settles if this worker cannot open it. */
export async function refusalOfResult(of: ResultKind, seq: number): Promise<string | undefined> {
  const name = `${of} ${seq}`;
  const key = keysOfResults.get(name);
  if (key === undefined) return undefined;
  keysOfResults.delete(name);
  if (!(await findKey(key.id))) return unknownKey(key.id);
  if (key.unopened === undefined) return undefined;
  // An error would be caught by the code that waits for the result.
  unopened = new UnopenedError(key.unopened);
  return new Promise(() => undefined);
}

type ResultKind = 'activity' | 'child';

function noteResult(
  of: ResultKind,
  job: { readonly seq?: number | null; readonly result?: unknown } | null | undefined,
): void {
  if (!job || (of === 'activity' && lookups.has(job.seq ?? 0))) return;
  const key = keyOf(payloadsIn(job.result));
  if (key === undefined) return;
  if (key.id === ownKey) requireOpen(key);
  else keysOfResults.set(`${of} ${job.seq}`, key);
}

/** Whether a worker that can open this workflow's payloads has the key too. */
async function findKey(id: string): Promise<boolean> {
  try {
    await CancellationScope.nonCancellable(() => schedule('FIND_KEY', { key: id }));
    return true;
  } catch {
    return false;
  }
}

function unknownKey(id: string): string {
  return `it is encrypted with key ${id}, which the workers do not have`;
}

function requireOpen(key: PayloadKey | undefined): undefined {
  if (key?.unopened !== undefined) throw new UnopenedError(key.unopened);
}

interface Payload {
  readonly metadata?: Readonly<Record<string, Uint8Array>> | null;
  readonly data?: Uint8Array | null;
}

/** The key of payloads that came together: a key other than the workflow's own, if there is one. */
function keyOf(payloads: readonly Payload[]): PayloadKey | undefined {
  const keys = payloads.flatMap(({ metadata }): readonly PayloadKey[] => {
    const { [keyLabel]: id, [unopenedLabel]: why } = metadata ?? {};
    if (id === undefined) return [];
    return [why === undefined ? { id: textOf(id) } : { id: textOf(id), unopened: textOf(why) }];
  });
  const key = keys.find(({ id }) => id !== ownKey) ?? keys[0];
  return key && { ...key, ...keys.find(({ unopened: why }) => why !== undefined), id: key.id };
}

/** All payloads in a part of an activation, those of failures and their causes included. */
function payloadsIn(part: unknown): readonly Payload[] {
  if (typeof part !== 'object' || part === null || part instanceof Uint8Array) return [];
  const { metadata } = part as Payload;
  if (typeof metadata === 'object' && metadata !== null) return [part];
  return Object.values(part).flatMap(payloadsIn);
}

function toHeader(key: PayloadKey | undefined): Payload {
  const { id = '', unopened: why } = key ?? {};
  return { data: new TextEncoder().encode(why === undefined ? id : `${id} ${why}`) };
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
