import { Context } from '@temporalio/activity';
import { isJsonObject, type Json, type JsonObject } from '../model/json.js';
import type { TaskRequest } from '../model/node/task-request.js';
import { taskTitle } from '../model/names.js';
import { anySignal } from '../model/signals.js';
import type { AnyAction } from '../model/action.js';
import type { PluginLog } from '../plugins/contract.js';
import type { ActivityParts, Redactor, RunClaims } from './parts.js';
import { beginStep } from './step.js';
import { noTaskLog, openTaskLog, type TaskLog } from './task-log.js';

/** One attempt of one task while it runs: its signals, its heartbeat, its log. */
export interface Attempt {
  readonly number: number;
  /** No attempt of this activity was before it. The server counts anew after a reset of the activity. */
  readonly isFirst: boolean;
  readonly title: string;
  /** Aborted when the task is cancelled: end the work. */
  readonly signal: AbortSignal;
  /**
   * Aborted when only this attempt ends (shutdown, lost heartbeat): detach, another attempt continues the
   * work.
   */
  readonly detach: AbortSignal;
  readonly log: PluginLog;
  readonly output: TaskLog;
  /** Logs that the attempt failed: the worker's log has the reason and the kind on their own. */
  failed(reason: string, kind: string | undefined): void;
  /** Logs that it found something not ready yet, which is no failure: the task's log has the reason. */
  notReady(reason: string): void;
  /** Secrets learnt on the way are kept out of all that is written from now on. */
  hide(secrets: readonly string[]): void;
  redact(text: string): string;
  /** Says what the attempt is at, for the stack dump and the heartbeat. */
  at(step: string): void;
  /** What it is at. */
  step(): string;
  /** Notes, for later attempts, how far it went: the heartbeats carry it from now on. */
  mark(mark: Json): void;
  /** What it, or an earlier attempt, noted last. */
  marked(): Json | undefined;
  /**
   * Runs that were claimed on the node. A later attempt starts none of them, whatever is left on the node.
   */
  readonly claims: RunClaims;
  /** What its heartbeats say now. */
  heartbeat(): Json;
  /**
   * Notes, for later attempts, whether it ended by a fault. Returns how many in a row did, itself included.
   */
  countFaults(isFault: boolean): number;
  close(): Promise<void>;
}

/**
 * What a heartbeat says: for people the step, for later attempts the mark, the faults in a row
 * and the claims.
 */
interface Heartbeat {
  readonly step: string;
  readonly mark?: Json;
  readonly faults?: number;
  readonly claims?: readonly string[];
}

/** The last claims that heartbeats carry. */
const longestClaims = 20;

/** What the heartbeats of earlier attempts said last. */
export function markBefore(): Json | undefined {
  return readMark(Context.current().info.heartbeatDetails);
}

export function readMark(heartbeat: unknown): Json | undefined {
  if (typeof heartbeat !== 'object' || heartbeat === null || !('mark' in heartbeat)) return undefined;
  // Only our own workers can write heartbeats: payloads are encrypted.
  return heartbeat.mark as Json;
}

function heartbeatBefore(): Partial<Heartbeat> {
  const details: unknown = Context.current().info.heartbeatDetails;
  // Only our own workers can write heartbeats: payloads are encrypted.
  return typeof details === 'object' && details !== null ? (details as Partial<Heartbeat>) : {};
}

/** @param within ends the attempt as the end of the worker would. */
export function openAttempt(
  parts: ActivityParts,
  action: AnyAction,
  request: TaskRequest,
  plugin: string,
  within?: AbortSignal,
): Attempt {
  const attempt = beginAttempt(parts, {
    taskId: request.taskId,
    title: taskTitle(action, request.nodeId, request.service?.name),
    facts: { cluster: request.clusterId, node: request.nodeId, task: request.taskId, plugin },
    // Probes between operations are frequent, and their logs are not read.
    openLog: (redactor) =>
      request.operation.startsWith('-')
        ? noTaskLog
        : openTaskLog(parts.logs, logName(action, request), redactor),
    within,
  });
  attempt.output.note('info', `attempt ${attempt.number}`, { run: request.run });
  return attempt;
}

/**
 * Sends heartbeats until its result is called, so that the activity restarts within seconds
 * after the death of its worker.
 */
export function beatUntilEnded(heartbeat: () => void): () => void {
  const { heartbeatTimeoutMs = 5_000 } = Context.current().info;
  const timer = setInterval(heartbeat, Math.max(250, heartbeatTimeoutMs / 4));
  return () => clearInterval(timer);
}

export interface AttemptFacts {
  readonly taskId: string;
  /** How it reads in logs and messages. */
  readonly title: string;
  /** What each line of the worker's log says of it. */
  readonly facts: JsonObject;
  readonly openLog: (redactor: () => Redactor) => TaskLog;
  readonly within?: AbortSignal;
}

export function beginAttempt(
  parts: ActivityParts,
  { taskId, title, facts: task, openLog, within }: AttemptFacts,
): Attempt {
  const context = Context.current();
  const { info } = context;
  const workflow = info.workflowExecution?.workflowId;
  const facts = { ...(workflow === undefined ? {} : { workflow }), ...task, attempt: info.attempt };
  const secrets: string[] = [];
  let redactor: Redactor = parts.redact(secrets);
  const output = openLog(() => redactor);
  let step = beginStep('begin');
  let beat = Date.now();
  let mark = markBefore();
  const { faults: faultsBefore = 0, claims: claimsBefore = [] } = heartbeatBefore();
  let faults = faultsBefore;
  const claims = new Set(claimsBefore);
  const details = () =>
    ({
      step: step.step,
      ...(mark === undefined ? {} : { mark }),
      ...(faults === 0 ? {} : { faults }),
      ...(claims.size === 0 ? {} : { claims: [...claims].slice(-longestClaims) }),
    }) satisfies Heartbeat;
  const heartbeat = (): void => {
    beat = Date.now();
    context.heartbeat(details());
  };
  const endBeats = beatUntilEnded(heartbeat);
  const forget = parts.inFlight.add({
    taskId,
    title,
    attempt: info.attempt,
    startedAt: Date.now(),
    lastHeartbeat: () => beat,
    at: () => step,
  });
  const { signal, detach } = splitSignal(context);
  const write =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (message: string, attributes?: JsonObject): void => {
      const said = redactor.redact(message);
      const more = attributes === undefined ? undefined : redactObject(attributes, redactor);
      parts.log[level]({ ...facts, ...more }, said);
      output.note(level, said, more);
    };
  return {
    number: info.attempt,
    isFirst: info.attempt === 1 && info.currentAttemptScheduledTimestampMs <= info.scheduledTimestampMs,
    title,
    signal,
    detach: within === undefined ? detach : anySignal([detach, within]),
    output,
    log: { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') },
    failed(reason, kind) {
      const said = redactor.redact(reason);
      parts.log.warn({ ...facts, reason: said, ...(kind === undefined ? {} : { kind }) }, `${title} failed`);
      output.note('warn', said);
    },
    notReady(reason) {
      const said = redactor.redact(reason);
      parts.log.debug({ ...facts, reason: said }, `${title} is not ready yet`);
      output.note('info', said);
    },
    hide(more) {
      const unknown = more.filter((secret) => !secrets.includes(secret));
      if (unknown.length === 0) return;
      secrets.push(...unknown);
      redactor = parts.redact(secrets);
    },
    redact: (text) => redactor.redact(text),
    at(name) {
      // A plugin may report it.
      step = beginStep(redactor.redact(name));
    },
    step: () => step.step,
    mark(next) {
      mark = next;
      heartbeat();
    },
    marked: () => mark,
    claims,
    heartbeat: details,
    countFaults(isFault) {
      const before = faults;
      faults = isFault ? before + 1 : 0;
      // The worker sends the last heartbeat before it reports the failure.
      if (faults !== before) heartbeat();
      return faults;
    },
    async close() {
      endBeats();
      forget();
      output.note('debug', `attempt ${info.attempt} ended`);
      const unwritten = await output.close();
      if (unwritten !== undefined)
        parts.log.warn(facts, `the task's log is incomplete: ${redactor.redact(unwritten.message)}`);
    },
  };
}

/** Secrets are taken out of values and of names. */
function redactObject(object: JsonObject, redactor: Redactor): JsonObject {
  return Object.fromEntries(
    Object.entries(object).map(([key, value]) => [redactor.redact(key), redactValue(value, redactor)]),
  );
}

function redactValue(value: Json, redactor: Redactor): Json {
  if (typeof value === 'string') return redactor.redact(value);
  if (Array.isArray(value)) return value.map((item: Json) => redactValue(item, redactor));
  return isJsonObject(value) ? redactObject(value, redactor) : value;
}

/** A cancelled task is ended; an attempt that only has to go lets go of what runs on the node. */
function splitSignal(context: Context): { readonly signal: AbortSignal; readonly detach: AbortSignal } {
  const signal = context.cancellationSignal;
  const cancel = new AbortController();
  const detach = new AbortController();
  const split = (): void => {
    // Called by the worker, outside of the attempt: only the object still knows which attempt this is.
    if (context.cancellationDetails?.cancelRequested === true) cancel.abort(signal.reason);
    else detach.abort(signal.reason);
  };
  if (signal.aborted) split();
  else signal.addEventListener('abort', split, { once: true });
  return { signal: cancel.signal, detach: detach.signal };
}

/** One log for each run of a task; its attempts follow each other in it. */
function logName(action: AnyAction, request: TaskRequest): string {
  const { clusterUid, nodeId, incarnation, operation, run } = request;
  const service = request.service?.name ?? '-';
  return `${clusterUid}/${nodeId}/${operation}.${incarnation}.${service}.${action}.${run}.log`;
}
