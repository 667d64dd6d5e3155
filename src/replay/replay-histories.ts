import { fileURLToPath } from 'node:url';
import { EncryptionCodec, parseKeyRing, type KeyRing, type OnPlaintext } from '../temporal-plugin.js';
import { findEvent, firstBadTask, viewEvent, type EventView } from './find-event.js';
import { findUnreadable, firstSealed } from './payloads.js';
import { exportRemedy, idOf, readHistory, startOf, type History, type HistoryEvent } from './read-history.js';
import { createReplayer, type Replayer, type ReplayFailure } from './replayer.js';
import type { ReplayFault, ReplayReport } from './report.js';
import { wrapMessages } from './wrap-messages.js';

export interface HistoryToReplay {
  /** Text or parsed JSON of an export, or a history as `WorkflowHandle.fetchHistory()` gives it. */
  readonly history: unknown;
  /** Unless given, what the history's first event says. */
  readonly workflowId?: string;
  readonly runId?: string;
  /** Where it comes from, for reports: a file's name. */
  readonly source?: string;
}

export interface ReplayOptions {
  /** An open key ring, or the text that `heddle keys export` prints. */
  readonly keys?: KeyRing | string;
  /** The namespace of the histories. Default: `default`. */
  readonly namespace?: string;
  /** The policy for plaintext among encrypted payloads. Default: marked, as in workers. */
  readonly onPlaintext?: OnPlaintext;
  /** A workflow bundle. Default: the bundle of this build. */
  readonly bundlePath?: string;
}

/**
 * Replays histories in order, and reports for each whether a worker of this build could continue it. Sends
 * nothing to a server. To silence the SDK's log of failures, install a `Runtime` with a logger first.
 */
export async function* replayHistories(
  histories: Iterable<HistoryToReplay> | AsyncIterable<HistoryToReplay>,
  options: ReplayOptions = {},
): AsyncGenerator<ReplayReport, void, undefined> {
  const bench = createBench(options);
  try {
    for await (const given of histories) yield await replayOne(bench, given);
  } finally {
    await bench.close();
  }
}

/** Where a workflow can be reset to, for a build that cannot continue it. */
export interface ResetPoint {
  readonly fault: ReplayFault;
  /**
   * The end of the first task that this build does not make again, which the server takes as the point of a
   * reset. Absent where a reset would not help.
   */
  readonly event?: number;
}

/** Undefined where this build replays the whole history, so that there is nothing to reset. */
export async function findResetPoint(
  workflowId: string,
  given: History,
  options: ReplayOptions = {},
): Promise<ResetPoint | undefined> {
  const bench = createBench(options);
  try {
    const history = readHistory(given);
    const fault = await bench.judge(workflowId, history);
    if (fault === undefined) return undefined;
    const bad = fault.kind === 'nondeterminism' ? await bench.firstBad(workflowId, history) : undefined;
    return bad === undefined ? { fault } : { fault, event: idOf(bad) };
  } finally {
    await bench.close();
  }
}

async function replayOne(bench: Bench, given: HistoryToReplay): Promise<ReplayReport> {
  const { workflowId = '', runId = '', source } = given;
  const named = source === undefined ? {} : { source };
  let history: History;
  try {
    history = readHistory(given.history);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { workflowId, runId, ...named, events: 0, ok: false, error: { kind: 'not-a-history', message } };
  }
  const start = startOf(history);
  const view = {
    workflowId: workflowId || (start.workflowId ?? ''),
    runId: runId || (start.originalExecutionRunId ?? ''),
    workflowType: start.workflowType?.name ?? '',
    ...named,
    events: history.events?.length ?? 0,
  };
  const error = await bench.judge(view.workflowId, history);
  return error === undefined ? { ...view, ok: true } : { ...view, ok: false, error };
}

/** Holds what all histories share: keys, and one replayer each for encrypted and for plain ones. */
interface Bench {
  /** Undefined where the history replays. */
  judge(workflowId: string, history: History): Promise<ReplayFault | undefined>;
  /** The end of the first task that does not replay, of a history that could be judged. */
  firstBad(workflowId: string, history: History): Promise<HistoryEvent | undefined>;
  close(): Promise<void>;
}

/** The workflows as they were bundled by the build. */
const ownBundlePath = fileURLToPath(new URL('../../dist/workflow-bundle.js', import.meta.url));

function createBench({
  keys,
  namespace = 'default',
  onPlaintext,
  bundlePath = ownBundlePath,
}: ReplayOptions): Bench {
  const keyRing = typeof keys === 'string' ? parseKeyRing(keys, 'the keys given for the replay') : keys;
  const codec =
    keyRing === undefined ? undefined : new EncryptionCodec({ keyRing, namespace, onPlaintext: 'pass' });
  const replayers: Partial<Record<'sealed' | 'plain', Replayer>> = {};

  function replayerFor(sealed: boolean): Replayer {
    if (!sealed || keyRing === undefined) return (replayers.plain ??= createReplayer({ bundlePath }));
    const encryption = { keys: keyRing, namespace, onPlaintext };
    return (replayers.sealed ??= createReplayer({ bundlePath, encryption }));
  }

  return {
    async judge(workflowId, history) {
      const sealedAt = firstSealed(history);
      const unreadable =
        sealedAt === undefined || codec === undefined ? undefined : await findUnreadable(history, codec);
      if (unreadable !== undefined) return undecryptable(history, unreadable.event, unreadable.message);
      if (sealedAt !== undefined && codec === undefined)
        return undecryptable(history, sealedAt, 'Its payloads are encrypted, and no keys were given.');
      const replayable = sealedAt === undefined ? wrapMessages(history) : history;
      return replayAndExplain(replayerFor(sealedAt !== undefined), workflowId, replayable);
    },
    firstBad(workflowId, history) {
      const isSealed = firstSealed(history) !== undefined;
      const replayer = replayerFor(isSealed);
      return firstBadTask(
        isSealed ? history : wrapMessages(history),
        async (part) => (await replayer.replay(workflowId, part)) === undefined,
      );
    },
    async close() {
      for (const replayer of Object.values(replayers)) await replayer.close();
    },
  };
}

async function replayAndExplain(
  replayer: Replayer,
  workflowId: string,
  history: History,
): Promise<ReplayFault | undefined> {
  // A start that is delayed: no worker has done anything yet, and the SDK would wait for it.
  if (history.events?.some((event) => event.workflowTaskScheduledEventAttributes) !== true) return undefined;
  const failure = await replayer.replay(workflowId, history);
  if (failure === undefined) return undefined;
  const type = startOf(history).workflowType?.name ?? '';
  if (failure.message.includes('no such function is exported by the workflow bundle')) {
    return {
      kind: 'unknown-type',
      message: `is of workflow type "${type}", which this build does not have: it is another application's, or of another version of Heddle`,
      detail: failure.message,
    };
  }
  if (failure.kind === 'invalid') {
    return {
      kind: 'not-a-history',
      message: `is not a complete history: ${failure.message.replace(/ Event detail:[^]*/, '')} ${exportRemedy}`,
    };
  }
  const event = await findEvent(
    history,
    failure,
    async (part) => (await replayer.replay(workflowId, part)) === undefined,
  );
  return { kind: failure.kind, message: explain(failure, event), event, detail: failure.message };
}

function undecryptable(history: History, id: number, message: string): ReplayFault {
  const event = history.events?.find((candidate) => idOf(candidate) === id);
  return {
    kind: 'undecryptable',
    message: `cannot be decrypted: ${message}`,
    event: event === undefined ? undefined : viewEvent(event),
  };
}

/** Describes how history and build differ, or the error of the build's code. */
function explain({ kind, message }: ReplayFailure, event: EventView | undefined): string {
  if (kind === 'failure')
    return `this build's workflow fails${event === undefined ? '' : ` at event ${event.id}`}: ${message}`;
  const core = message.replace(/^\[TMPRL1100\] Nondeterminism error: /, '');
  const there = event === undefined ? 'the history' : `the history has ${describe(event)}`;
  const pair = /^(\w[\w ]*?) of scheduled event '(.+)' does not match .* '(.+)'$/.exec(core);
  if (pair !== null)
    return `${there}; this build goes on with another ${pair[1]?.toLowerCase() ?? ''} there: ${pair[3] ?? ''}`;
  if (/^No command scheduled for event/.test(core)) return `${there}; this build does nothing there`;
  const machine = /^(.+?) machine (?:does not|cannot) handle this event/.exec(core)?.[1];
  if (machine !== undefined)
    return `${there}; this build ${doings[machine] ?? `goes on with another command (${machine})`} there`;
  const patch = /^Non-deprecated patch marker encountered for change (\S+),/.exec(core)?.[1];
  if (patch !== undefined)
    return `${there}: it was written by a build with patched('${patch}'), which this build does not have`;
  return `${there}; ${core}`;
}

/** "event 31, ActivityTaskScheduled (…)". */
function describe({ id, type, about }: EventView): string {
  return `event ${id}, ${type}${about === undefined ? '' : ` (${about})`}`;
}

/** Names of the SDK's state machines, and the workflow operation behind each. */
const doings: Readonly<Record<string, string>> = {
  Activity: 'schedules an activity',
  'Local activity': 'runs a local activity',
  Timer: 'starts a timer',
  'Child workflow': 'starts a child workflow',
  'Signal external WF': 'signals another workflow',
  'Cancel external WF': 'cancels another workflow',
  Update: 'answers an update',
  Change: 'asks patched()',
  'Complete workflow': 'completes the workflow',
  'Fail workflow': 'fails the workflow',
  'Cancel workflow': 'cancels the workflow',
  'Continue as new workflow': 'continues as new',
};
