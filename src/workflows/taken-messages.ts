import { ApplicationFailure, CancellationScope, log, uuid4, workflowInfo } from '@temporalio/workflow';
import type { Seal, TakenMessages } from '../model/messages/seal.js';
import { repeatableStarts, refuseStart } from '../model/messages/start.js';
import {
  nothingTaken,
  refuseTaken,
  repeatedType,
  withAnswer,
  withTaken,
  type MessageRefusal,
} from '../model/messages/taken.js';
import { shortUid } from '../model/names.js';
import { taskTime } from './recorded.js';
import { schedule } from './schedule.js';

/**
 * Which messages this workflow has taken, so that it takes none twice and none of an earlier
 * workflow of its name. Handed from run to run in the envelope of the next run's start. See
 * docs/decisions/0044-messages-once.md. Each run of a workflow has its own instance of this module.
 */
let taken: TakenMessages = nothingTaken;
let began = 0;
let start: string | undefined;
/** The start may be a repeated one. */
let isToFind = false;
let handled: Seal | undefined;
let addresses: readonly string[] = [];

/** Why this run must not be started like this; undefined if it may. */
export function takeStart(seal: Seal): MessageRefusal | undefined {
  const { workflowType, workflowId, firstExecutionRunId, continuedFromExecutionRunId, parent, startTime } =
    workflowInfo();
  const refusal = refuseStart(seal, {
    workflowId,
    continuedFrom: continuedFromExecutionRunId,
    parent: parent?.runId,
    startedAt: startTime.getTime(),
  });
  if (refusal !== undefined) return refusal;
  const { after } = seal;
  taken = after?.taken ?? nothingTaken;
  began = after?.began ?? startTime.getTime();
  start = after === undefined ? seal.id : after.start;
  isToFind = after === undefined && start !== undefined && !repeatableStarts.includes(workflowType);
  addresses = [firstExecutionRunId, ...(start === undefined ? [] : [start])];
  return undefined;
}

/**
 * Waits until it is known that no earlier workflow of this name had the same start. Before it
 * has done anything.
 * @throws ApplicationFailure if a caller has repeated the start.
 */
export async function requireNewStart(): Promise<void> {
  if (!isToFind || start === undefined) return;
  isToFind = false;
  const request = { start };
  const found: { readonly isNew: boolean } | undefined = await CancellationScope.nonCancellable(() =>
    schedule('FIND_START', request),
  );
  // A caller without keys may complete the activity, with nothing.
  if (found?.isNew !== true)
    throw ApplicationFailure.nonRetryable(
      'the start was refused: an earlier workflow of this name had the same one, and a start is valid once',
      repeatedType,
    );
}

/** When the first run of this workflow began, in ms since the epoch. */
export function beganAt(): number {
  return began;
}

/** Changes nothing, so validators may ask. @param now ms since the epoch. */
export function refusalOfMessage(purpose: string, seal: Seal, now: number): MessageRefusal | undefined {
  return refuseTaken(purpose, seal, { taken, receiver: { addresses, began }, now });
}

/** Whether messages were sealed later than now, so that the time decides which ones are taken. */
export function isSetBack(now: number): boolean {
  return taken.since > now;
}

export function noteMessage(seal: Seal): void {
  taken = withTaken(taken, seal);
  handled = seal;
}

/**
 * When the client sealed the update, in ms since the epoch by the server's clock; undefined if
 * it was encrypted by the codec server. For handlers, before they wait for anything. After a
 * reset the server delivers updates again: they keep this time.
 */
export function sealedAt(): number | undefined {
  return handled?.at;
}

/**
 * Names what a message asks for, also if the server delivers it again after a reset. For
 * handlers, before they wait for anything.
 */
export function requestUid(): string {
  const { id = '' } = handled ?? {};
  return /^[a-z0-9-]{10,36}$/i.test(id) ? shortUid(id) : shortUid(uuid4());
}

/** The work of the message that came last, for when its turn has come: others may have come since. */
export function ofMessage<Result>(work: () => Result): () => Result {
  const seal = handled;
  return () => {
    handled = seal;
    return work();
  };
}

/** A client that lost the answer of a run gets it from the next ones. */
export function noteAnswer(seal: Seal, answer: unknown): void {
  taken = withAnswer(taken, seal, answer);
}

/** The seal of a signal to another workflow. */
export function sealOfSignal(): Seal {
  return { id: uuid4(), at: taskTime() };
}

/** The seal of the start of a child. */
export function sealOfChild(): Seal {
  return { parent: workflowInfo().runId };
}

/** The seal of the start of the next run. */
export function sealOfNextRun(): Seal {
  return { after: { run: workflowInfo().runId, began, ...(start === undefined ? {} : { start }), taken } };
}

export function ignore(signalName: string, why: string): void {
  log.warn('a signal was ignored', { signal: signalName.slice(0, 100), why: why.slice(0, 500) });
}
