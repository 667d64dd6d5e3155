import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import type { Json, JsonObject } from '../../model/json.js';
import type { PluginLog } from '../contract.js';
import {
  logLevels,
  maxLogLines,
  maxRequests,
  sizes,
  type LogLevel,
  type RequestMessage,
} from './protocol.js';
import type { Program, ProgramEnd } from './program.js';
import { refuseRequest, serveRequest, type Services } from './serve-request.js';

/** One call of one program. */
export interface Call {
  readonly message: object;
  readonly allowed: readonly string[];
  readonly services: Services;
  readonly log: PluginLog;
  /** Aborted when the call must be over: cancelled, let go, or out of time. */
  readonly stop: AbortSignal;
}

/**
 * What came of a call: the text of its result as far as it was written, and how the program ended if it did.
 */
export interface Finish {
  readonly text: string;
  readonly end?: ProgramEnd;
  /** The last it said for people. */
  readonly lastWords: string;
  /** What it asked for and has no answer yet. */
  readonly pending: Promise<unknown>;
}

/** How long a program has to end by itself once it was told that the call is over, in ms. */
const cancelMs = 1_000;

/**
 * A program that is there for one call: all that it writes and that is no request is its result, and it ends.
 */
export async function converseOnce(program: Program, call: Call): Promise<Finish> {
  const texts: string[] = [];
  let length = 0;
  const talk = listen(program, call, (text) => {
    length += text.length;
    if (length > sizes.result) program.kill(`it printed a result of more than ${sizes.result} characters`);
    else texts.push(text);
  });
  program.send(call.message);
  // Who may ask nothing gets an end of input, which many a reader of JSON waits for.
  if (call.allowed.length === 0) program.closeInput();
  const end = await endOf(program, call);
  return { text: texts.join('\n'), end, lastWords: talk.lastWords(), pending: talk.pending() };
}

/** A program that stands ready for the next call afterwards: its result is one line. */
export async function converseAgain(program: Program, call: Call): Promise<Finish> {
  let answer: (text: string) => void = () => undefined;
  const answered = new Promise<{ readonly text: string }>((resolve) => {
    answer = (text) => resolve({ text });
  });
  const talk = listen(program, call, answer);
  program.send(call.message);
  const finish = await Promise.race([answered, endOf(program, call, answered).then(early)]);
  await hearOut(talk);
  // Whatever goes on in it after its answer is not heard any more.
  program.listen({ line: () => undefined, said: () => undefined });
  return { ...finish, lastWords: talk.lastWords(), pending: talk.pending() };
}

/** Locks in which what a program printed before its answer may still come: it comes another way. */
const maxTurns = 100;

/**
 * Until a turn of the event loop brings no more; what was printed before the answer is there to be read by
 * then.
 */
async function hearOut(talk: Talk): Promise<void> {
  for (let turn = 0, heard = -1; turn < maxTurns && heard !== talk.heard(); turn += 1) {
    heard = talk.heard();
    await nextTurn();
    await nextTurn();
  }
}

function early(end: ProgramEnd): { readonly text: string; readonly end: ProgramEnd } {
  return {
    text: '',
    end: {
      ...end,
      words: end.fault === undefined ? `${end.words} before it answered` : end.words,
      fault: end.fault ?? 'it did not answer',
    },
  };
}

/**
 * Waits for the end of a program; once the call must be over, makes it end. Nothing is ended that answers
 * before.
 */
async function endOf(program: Program, { stop }: Call, answered?: Promise<unknown>): Promise<ProgramEnd> {
  const over = new AbortController();
  const ended = program.ended.finally(() => over.abort());
  void answered?.then(() => over.abort());
  const enforce = async (): Promise<void> => {
    if (program.send({ cancel: stop.reason instanceof Error ? stop.reason.message : 'the call is over' })) {
      await pause(cancelMs, undefined, { signal: over.signal }).catch(() => undefined);
    }
    if (!over.signal.aborted) await program.stop();
  };
  const onStop = (): void => void enforce();
  if (stop.aborted) onStop();
  else stop.addEventListener('abort', onStop, { once: true });
  over.signal.addEventListener('abort', () => stop.removeEventListener('abort', onStop), { once: true });
  return ended;
}

interface Talk {
  /** Number of things it has said for people. */
  heard(): number;
  lastWords(): string;
  pending(): Promise<unknown>;
}

function listen(program: Program, { allowed, services, log }: Call, onResult: (text: string) => void): Talk {
  const open = new Set<Promise<void>>();
  let lastWords = '';
  let logged = 0;
  let heard = 0;
  const note = (level: LogLevel, text: string): void => {
    const cut = text.length > sizes.logLine ? `${text.slice(0, sizes.logLine)}…` : text;
    logged += 1;
    if (logged <= maxLogLines) log[level](cut);
    else if (logged === maxLogLines + 1)
      log.warn(`more than ${maxLogLines} log lines: the rest of this call is left out`);
  };
  const serve = (request: RequestMessage): void => {
    if (open.size >= maxRequests) return void program.send(refuseRequest(request));
    const served: Promise<void> = serveRequest(request, allowed, services)
      .then((reply) => void program.send(reply))
      .finally(() => open.delete(served));
    open.add(served);
  };
  program.listen({
    line(text) {
      const message = objectIn(text);
      if (message !== undefined && isRequest(message)) return serve(message);
      const said = message === undefined ? undefined : logLine(message, 'log');
      if (said !== undefined) return note(...said);
      if (text.trim() !== '') onResult(text);
    },
    said(text) {
      heard += 1;
      if (text.trim() === '') return;
      const message = objectIn(text);
      const [level, words] = (message === undefined
        ? undefined
        : (logLine(message, 'log') ?? logLine(message, 'level'))) ?? ['info', text];
      lastWords = `${lastWords}${words}\n`.slice(-sizes.lastWords);
      note(level, words);
    },
  });
  return { heard: () => heard, lastWords: () => lastWords.trim(), pending: () => Promise.allSettled(open) };
}

function objectIn(text: string): JsonObject | undefined {
  if (!text.startsWith('{') || !text.endsWith('}')) return undefined;
  try {
    const value = JSON.parse(text) as Json;
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as JsonObject)
      : undefined;
  } catch {
    return undefined;
  }
}

function isRequest(message: JsonObject): message is RequestMessage {
  return typeof message['request'] === 'string' && Number.isSafeInteger(message['id']);
}

/** `{"log": "info", "message": "…"}`, or on standard error also `{"level": "info", "message": "…"}`. */
function logLine(message: JsonObject, key: 'log' | 'level'): readonly [LogLevel, string] | undefined {
  const level = logLevels.find((known) => known === message[key]);
  const { message: words, attributes } = message;
  if (level === undefined || typeof words !== 'string') return undefined;
  // Attributes join the text, so that secrets are taken out of them as well.
  return [level, attributes === undefined ? words : `${words} ${JSON.stringify(attributes)}`];
}
