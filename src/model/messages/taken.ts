import { skewMs, validMs } from './envelope.js';
import type { Seal, TakenMessages, TakenOfRun } from './seal.js';

/** Each list, in about bytes of JSON: some 350 ids, and the signals of some 400 runs, more than a cluster has groups. */
const mostIdBytes = 12_000;
const mostRunBytes = 26_000;
const mostOpen = 8;
const longestId = 36;
/** The last characters of a run id, 48 random bits; the first ones are the time. */
const runCharacters = 12;

/** What all of this has at most, in bytes of JSON. */
export const mostTakenBytes = 39_000;

export const nothingTaken: TakenMessages = { ids: [], idsSince: 0, runs: [], runsSince: 0 };

/** The workflow that a message reaches. */
export interface Receiver {
  /** Ids of the workflow: that of its first run, that of its start, its uid. */
  readonly addresses: readonly string[];
  /** When its first run began, in ms since the epoch. */
  readonly began: number;
}

/** The failure type of a message that its sender may seal and send again. */
export const sealAgainType = 'SealAgain';

/** Why a message is refused. `Repeated`: the workflow has taken it. */
export interface MessageRefusal {
  readonly is: 'Invalid' | 'Repeated' | typeof sealAgainType;
  readonly why: string;
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
  const at = sealedAt(seal);
  if (at === undefined || !(isFromClient(seal) || isFromRun(seal)))
    return { is: 'Invalid', why: `${purpose} ${withoutId}` };
  const { addresses, began } = receiver;
  const sealAgain = (why: string): MessageRefusal => ({ is: sealAgainType, why: `${purpose} ${why}` });
  if (seal.to === undefined ? at < began : !addresses.includes(seal.to)) return sealAgain(forAnother);
  if (at > now + skewMs) return sealAgain(fromLater);
  if (isFromClient(seal)) {
    if (taken.ids.some(([id]) => id === seal.id)) return { is: 'Repeated', why: `${purpose} ${repeated}` };
    return at <= taken.idsSince ? sealAgain(tooOld) : undefined;
  }
  const { from, count } = seal as SealOfRun;
  const known = taken.runs.find(({ run }) => run === runOf(from));
  if (known === undefined) return at <= taken.runsSince ? sealAgain(tooOld) : undefined;
  if (count > known.count || known.open?.includes(count) === true) return undefined;
  return { is: 'Repeated', why: `${purpose} ${repeated}` };
}

/** With a message that was not refused. */
export function withTaken(taken: TakenMessages, seal: Seal): TakenMessages {
  const at = sealedAt(seal) ?? 0;
  if (isFromRun(seal)) return withSignal(taken, seal, at);
  const ids = [...taken.ids, [seal.id ?? '', at] as const];
  const bytes = ids.reduce((sum, [id]) => sum + id.length + 20, 0);
  if (bytes <= mostIdBytes) return { ...taken, ids };
  const oldest = ids.reduce((least, one) => (one[1] < least[1] ? one : least));
  return {
    ...taken,
    ids: ids.filter((one) => one !== oldest),
    idsSince: Math.max(taken.idsSince, oldest[1]),
  };
}

function withSignal(taken: TakenMessages, { from, count }: SealOfRun, at: number): TakenMessages {
  const known = taken.runs.find(({ run }) => run === runOf(from));
  const open = [...skippedBy(count, known, taken), ...(known?.open ?? [])]
    .filter((one) => one !== count)
    .slice(0, mostOpen);
  const next: TakenOfRun = {
    run: runOf(from),
    count: Math.max(known?.count ?? 0, count),
    at: Math.max(known?.at ?? 0, at),
    ...(open.length === 0 ? {} : { open }),
  };
  const runs = [...taken.runs.filter((one) => one !== known), next];
  const [oldest, ...newer] = runs;
  const bytes = runs.reduce((sum, { open: gaps = [] }) => sum + 64 + 10 * gaps.length, 0);
  if (oldest === undefined || bytes <= mostRunBytes) return { ...taken, runs };
  return { ...taken, runs: newer, runsSince: Math.max(taken.runsSince, oldest.at) };
}

/** A run that is not in the list may have been forgotten: then its earlier signals are refused. */
function skippedBy(
  count: number,
  known: TakenOfRun | undefined,
  { runsSince }: TakenMessages,
): readonly number[] {
  if (known === undefined && runsSince > 0) return [];
  const skipped = count - (known?.count ?? 0) - 1;
  return Array.from({ length: Math.max(0, Math.min(mostOpen, skipped)) }, (_, index) => count - index - 1);
}

/** When a message was sealed, in ms since the epoch; undefined if it does not say. */
export function sealedAt({ at, until }: Seal): number | undefined {
  if (typeof until === 'number') return until - validMs;
  return typeof at === 'number' && Number.isFinite(at) ? at : undefined;
}

type SealOfRun = Seal & { readonly from: string; readonly count: number };

function isFromRun(seal: Seal): seal is SealOfRun {
  return isId(seal.from) && Number.isSafeInteger(seal.count) && (seal.count ?? 0) > 0;
}

function isFromClient({ id, from }: Seal): boolean {
  return isId(id) && from === undefined;
}

export function isId(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= longestId;
}

function runOf(runId: string): string {
  return runId.slice(-runCharacters);
}

const withoutId = 'was sealed without an id and a time, so it could be repeated';
const forAnother = 'was sealed for another workflow of this name, such as an earlier one: send it again';
const repeated = 'was taken before, and a message is valid once: look at what it did, then send a new one';
const tooOld = 'was sealed before messages that this workflow has taken and forgotten: send it again';
const fromLater =
  "was sealed by a clock that is ahead of the Temporal server's: synchronise it, then send it again";
