import { Context } from '@temporalio/activity';
import type { JsonObject } from '../model/json.js';
import type { TaskRequest } from '../model/messages.js';
import { taskTitle } from '../model/names.js';
import type { Action } from '../model/action.js';
import type { PluginLog } from '../plugins/contract.js';
import type { ActivityParts, Redactor } from './parts.js';
import { openTaskLog, type TaskLog } from './task-log.js';

/** One attempt of one task while it runs: its signals, its heartbeat, its log. */
export interface Attempt {
  readonly number: number;
  readonly title: string;
  /** Aborted when the task was cancelled: end what was begun. */
  readonly signal: AbortSignal;
  /** Aborted when only this attempt ends (shutdown, lost heartbeat): let go, another attempt takes over. */
  readonly detach: AbortSignal;
  readonly log: PluginLog;
  readonly output: TaskLog;
  /** Secrets learnt on the way are kept out of all that is written from now on. */
  hide(secrets: readonly string[]): void;
  redact(text: string): string;
  /** Says what the attempt is at, for the stack dump and the heartbeat. */
  at(step: string): void;
  /** What it is at. */
  step(): string;
  close(): Promise<void>;
}

export function openAttempt(parts: ActivityParts, action: Action, request: TaskRequest, plugin: string): Attempt {
  const context = Context.current();
  const { info } = context;
  const title = taskTitle(action, request.nodeId, request.service?.name);
  const facts = { cluster: request.clusterId, node: request.nodeId, task: request.taskId, plugin, attempt: info.attempt };
  const secrets: string[] = [];
  let redactor: Redactor = parts.redact(secrets);
  const output = openTaskLog(parts.logs, logName(action, request), () => redactor);
  output.note('info', `attempt ${info.attempt}`, { run: request.run });
  let step = { step: 'begin', since: Date.now(), stack: new Error(title).stack ?? '' };
  let beat = Date.now();
  const timer = setInterval(() => {
    beat = Date.now();
    context.heartbeat(step.step);
  }, Math.max(250, (info.heartbeatTimeoutMs ?? 5_000) / 4));
  const forget = parts.inFlight.add({
    taskId: request.taskId, title, attempt: info.attempt, startedAt: Date.now(), lastHeartbeat: () => beat, at: () => step,
  });
  const signals = splitSignal(context);
  const write = (level: 'debug' | 'info' | 'warn' | 'error') => (message: string, attributes?: JsonObject): void => {
    const said = redactor.redact(message);
    parts.log[level]({ ...facts, ...attributes }, said);
    output.note(level, said, attributes);
  };
  return {
    number: info.attempt, title, ...signals, output,
    log: { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') },
    hide(more) {
      secrets.push(...more);
      redactor = parts.redact(secrets);
    },
    redact: (text) => redactor.redact(text),
    at(name) {
      step = { step: name, since: Date.now(), stack: new Error(name).stack ?? '' };
    },
    step: () => step.step,
    async close() {
      clearInterval(timer);
      forget();
      await output.close();
    },
  };
}

/** A cancelled task is ended; an attempt that only has to go lets go of what runs on the node. */
export function splitSignal(context: Context): { readonly signal: AbortSignal; readonly detach: AbortSignal } {
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
export function logName(action: Action, request: TaskRequest): string {
  const { clusterUid, nodeId, incarnation, operation, run } = request;
  const service = request.service?.name ?? '-';
  return `${clusterUid}/${nodeId}/${operation}.${incarnation}.${service}.${action}.${run}.log`;
}
