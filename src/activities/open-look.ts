import { Context } from '@temporalio/activity';
import type { JsonObject } from '../model/json.js';
import { splitSignal, type Attempt } from './attempt.js';
import type { ActivityParts } from './parts.js';

export interface LookFacts {
  /** How it reads in logs and messages, such as `SURVEY web`. */
  readonly title: string;
  readonly cluster: string;
  /** The provider account that is asked. */
  readonly provider: string;
}

/** One attempt of an activity that only looks: it belongs to no node, and keeps no log of its own. */
export function openLook(parts: ActivityParts, { title, ...facts }: LookFacts): Attempt {
  const context = Context.current();
  const { info } = context;
  const secrets: string[] = [];
  let redactor = parts.redact(secrets);
  let step = { step: 'begin', since: Date.now(), stack: new Error(title).stack ?? '' };
  let beat = Date.now();
  const timer = setInterval(() => {
    beat = Date.now();
    context.heartbeat(step.step);
  }, Math.max(250, (info.heartbeatTimeoutMs ?? 5_000) / 4));
  const forget = parts.inFlight.add({
    taskId: info.activityId, title, attempt: info.attempt, startedAt: Date.now(), lastHeartbeat: () => beat, at: () => step,
  });
  const write = (level: 'debug' | 'info' | 'warn' | 'error') => (message: string, attributes?: JsonObject): void => {
    parts.log[level]({ ...facts, attempt: info.attempt, ...attributes }, redactor.redact(message));
  };
  return {
    number: info.attempt, title, ...splitSignal(context),
    output: { name: '', note: () => undefined, print: () => Promise.resolve(), tails: () => ({}), close: () => Promise.resolve(undefined) },
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
    // It changes nothing, so it may always be done again.
    mark: () => undefined,
    close() {
      clearInterval(timer);
      forget();
      return Promise.resolve();
    },
  };
}
