import { skewMs, validMs } from './envelope.js';
import type { Seal, TakenMessages } from './seal.js';

/** Ids that a workflow remembers: the messages of 90 minutes at 10,000 a day. */
const mostIds = 600;
const longestId = 36;
/** How far the clocks of the server's own hosts may differ. */
export const hostSkewMs = 1_000;

/** Clients repeat a request for minutes if its answer was lost; the answers kept for them are small. */
const mostAnswers = 20;
const mostAnswerBytes = 200;

export const nothingTaken: TakenMessages = { ids: [], since: 0, answers: [] };

/**
 * Signals between a cluster and its groups, which a group sends every few seconds, and a
 * cluster has up to 400 groups. They name the cluster and are numbered, so their handlers
 * refuse repetitions (`model/cluster/numbered.ts`).
 */
export const numberedSignals: readonly string[] = ['instruct', 'report'];

/** The workflow that a message reaches. */
export interface Receiver {
  /** Ids of the workflow: that of its first run, that of its start, its uid. */
  readonly addresses: readonly string[];
  /** When its first run began, in ms since the epoch. */
  readonly began: number;
}

/** The failure type of a message that its sender may seal and send again. */
export const sealAgainType = 'SealAgain';
/**
 * The failure type of a message that the workflow has taken. Its details are the answer, if the
 * workflow has kept it.
 */
export const repeatedType = 'Repeated';

export interface MessageRefusal {
  readonly is: 'Invalid' | typeof repeatedType | typeof sealAgainType;
  readonly why: string;
  /** Of `Repeated`, in a list: the answer may be undefined. */
  readonly answer?: readonly unknown[];
}

/** Why a workflow must not take a message; undefined if it may. */
export function refuseTaken(
  purpose: string,
  seal: Seal,
  {
    taken,
    receiver,
    now,
  }: { readonly taken: TakenMessages; readonly receiver: Receiver; readonly now: number },
): MessageRefusal | undefined {
  const { id, to } = seal;
  const at = sealedAt(seal);
  const refused = (is: MessageRefusal['is'], why: string): MessageRefusal => ({
    is,
    why: `${purpose} ${why}`,
  });
  if (!isId(id) || at === undefined) return refused('Invalid', withoutId);
  const { addresses, began } = receiver;
  if (to === undefined ? at < began - hostSkewMs : !addresses.includes(to))
    return refused(sealAgainType, forAnother);
  if (at > now + skewMs) return refused(sealAgainType, fromLater);
  if (taken.ids.some(([known]) => known === id)) {
    const answer = taken.answers.find(([known]) => known === id)?.slice(1);
    return { ...refused(repeatedType, repeated), ...(answer === undefined ? {} : { answer }) };
  }
  return at <= validFrom(taken, now) ? refused(sealAgainType, tooOld) : undefined;
}

/**
 * Messages that were sealed then or earlier are refused. No message is taken that is more than
 * `skewMs` ahead, so a later time means that the server's clock was set back: then the last
 * minute is valid, or the workflow would refuse all.
 */
function validFrom({ since }: TakenMessages, now: number): number {
  return since > now + skewMs ? now - skewMs : since;
}

/** With a message that was not refused. */
export function withTaken(taken: TakenMessages, seal: Seal): TakenMessages {
  const at = sealedAt(seal) ?? 0;
  const ids = [...taken.ids, [seal.id ?? '', at] as const];
  const [first] = ids;
  if (ids.length <= mostIds || first === undefined) return { ...taken, ids };
  // Taken after the server's clock was set back: by its time alone, it would be forgotten at
  // once and could be repeated.
  const forgotten = at <= taken.since ? first : ids.reduce((least, one) => (one[1] < least[1] ? one : least));
  return {
    ...taken,
    ids: ids.filter((one) => one !== forgotten),
    since: Math.max(taken.since, forgotten[1]),
  };
}

/** With the answer to a message that was taken. */
export function withAnswer(taken: TakenMessages, { id = '' }: Seal, answer: unknown): TakenMessages {
  if ((JSON.stringify(answer) ?? '').length > mostAnswerBytes) return taken;
  return { ...taken, answers: [...taken.answers, [id, answer] as const].slice(-mostAnswers) };
}

/** When a message was sealed, in ms since the epoch; undefined if it does not say. */
export function sealedAt({ at, until }: Seal): number | undefined {
  if (typeof until === 'number') return until - validMs;
  return typeof at === 'number' && Number.isFinite(at) ? at : undefined;
}

export function isId(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= longestId;
}

const withoutId = 'was sealed without an id and a time, so it could be repeated';
const forAnother =
  'was sealed for another workflow of this name, such as an earlier one: send it again. If it is refused again, the clock of its sender is behind that of the Temporal server: synchronise it';
const repeated =
  'was accepted before, and a message is valid only once: check what it did, then send a new one';
const tooOld =
  'was sealed before messages that this workflow has accepted and forgotten: send it again. If it is refused again, the clock of its sender is behind that of the Temporal server: synchronise it';
const fromLater =
  "was sealed by a clock that is ahead of the Temporal server's: synchronise it, then send it again";
