import { AsyncResource } from 'node:async_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import type { JsonObject } from '../../model/json.js';
import { quoteValue } from '../../schema/problem.js';
import type { PluginLog } from '../contract.js';
import { silent, type Program, type ProgramEnd } from './program.js';
import { limits, logLevels, parseObject, type LogLevel, type RequestMessage } from './protocol.js';
import { serveRequest, tooManyRequests, type Services } from './requests.js';

/** One call of one program. */
export interface Call {
  readonly message: object;
  /** Names of the requests that the program may make. */
  readonly allowed: readonly string[];
  readonly services: Services;
  readonly log: PluginLog;
  /** Aborted when the call must end: cancelled, superseded, or out of time. */
  readonly stop: AbortSignal;
}

/** The outcome of a call: the text of its result, and how the program ended if it did. */
export interface Finish {
  readonly text: string;
  readonly end?: ProgramEnd;
  /** Why a line of its output is neither a request nor a result, for which the program was killed. */
  readonly broken?: string;
  /** The end of its log output. */
  readonly lastWords: string;
  /** Settles when its unanswered requests have been served. */
  readonly pending: Promise<unknown>;
  /** Whether the program had unanswered requests when the call had to end. */
  readonly waited: boolean;
}

/** Time for a program to exit after `cancel` or the end of its input, in ms. */
const cancelMs = 1_000;

/** Calls a program that exits after the call: all lines other than requests and log lines are its result. */
export async function callOnce(program: Program, call: Call): Promise<Finish> {
  const texts: string[] = [];
  let length = 0;
  let broken: string | undefined;
  const heard = listen(program, call, (text) => {
    length += text.length;
    if (length > limits.result) program.kill(`it printed a result of more than ${limits.result} characters`);
    else texts.push(text);
    if (call.allowed.length === 0 || broken !== undefined) return;
    broken = whyBroken(text, texts.length === 1);
    if (broken !== undefined) endInput(program);
  });
  program.send(call.message);
  // Many JSON readers wait for the end of input, and a program without requests receives nothing more.
  if (call.allowed.length === 0) program.closeInput();
  const end = await endOf(program, call);
  return { text: texts.join('\n'), end, broken, ...heard() };
}

/** Why a line is neither a request nor the start of a result; undefined if it may be one. */
function whyBroken(line: string, isFirst: boolean): string | undefined {
  const wrong = faultOf(line, isFirst);
  return wrong === undefined
    ? undefined
    : `its program printed a line that is neither a request nor the start of a result (${wrong}): ${quoteValue(line)}`;
}

function faultOf(line: string, isFirst: boolean): string | undefined {
  const message = parseObject(line);
  if (message !== undefined)
    return 'request' in message ? 'a request has "request", a string, and "id", an integer' : undefined;
  // A result may have several lines. Requests come before it.
  return isFirst ? whyNoBeginning(`${line}\n`) : undefined;
}

function whyNoBeginning(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    const { message } = error as SyntaxError;
    if (message.startsWith('Unexpected end')) return undefined;
    const [, what, position] = /^(.*) in JSON at position (\d+)/.exec(message) ?? [];
    if (what === undefined) return 'it is not JSON';
    const at = Number(position);
    if (at >= text.length) return undefined;
    return `not JSON: ${what} at position ${at}, near ${quoteValue(text.slice(Math.max(0, at - 25), at + 15))}`;
  }
}

/** The program waits for an answer that cannot come. Closing its input ends most programs. */
function endInput(program: Program): void {
  program.closeInput();
  const late = setTimeout(() => void program.stop(), cancelMs);
  void program.ended.then(() => clearTimeout(late));
}

/** Calls a program that serves several calls: its result is one line. */
export async function callAgain(program: Program, call: Call): Promise<Finish> {
  let answer: (text: string) => void = () => undefined;
  const answered = new Promise<string>((resolve) => {
    answer = resolve;
  });
  const heard = listen(program, call, answer);
  program.send(call.message);
  const first = await Promise.race([answered, endOf(program, call, answered)]);
  // Output for people comes through another pipe, and may arrive after the answer.
  await program.readRest();
  program.listen(silent);
  if (typeof first === 'string') return { text: first, ...heard() };
  const { words, fault } = first;
  const end =
    fault === undefined
      ? { ...first, words: `${words} before it answered`, fault: 'it did not answer' }
      : first;
  return { text: '', end, ...heard() };
}

/** Waits for the program's exit. If the call must end first, ends the program, unless it has answered. */
async function endOf(program: Program, { stop }: Call, answered?: Promise<unknown>): Promise<ProgramEnd> {
  const over = new AbortController();
  void answered?.then(() => over.abort());
  const enforce = async (): Promise<void> => {
    const cancel = stop.reason instanceof Error ? stop.reason.message : 'the call is over';
    if (program.send({ cancel }))
      await pause(cancelMs, undefined, { signal: over.signal }).catch(() => undefined);
    if (!over.signal.aborted) await program.stop();
  };
  if (stop.aborted) void enforce();
  else stop.addEventListener('abort', () => void enforce(), { once: true, signal: over.signal });
  return program.ended.finally(() => over.abort());
}

/** Serves the program's requests and logs its output; the returned function returns the received result. */
function listen(
  program: Program,
  { allowed, services, log, stop }: Call,
  onResult: (text: string) => void,
): () => Pick<Finish, 'lastWords' | 'pending' | 'waited'> {
  const open = new Set<Promise<void>>();
  let waited = false;
  stop.addEventListener('abort', () => (waited = open.size > 0), { once: true });
  let lastWords = '';
  let logged = 0;
  const note = ({ level, text }: LogLine): void => {
    logged += 1;
    if (logged <= limits.logLines)
      log[level](text.length > limits.logLine ? `${text.slice(0, limits.logLine)}…` : text);
    else if (logged === limits.logLines + 1)
      log.warn(`more than ${limits.logLines} log lines: further lines of this call are omitted`);
  };
  const serve = (request: RequestMessage): void => {
    if (open.size >= limits.requests) return void program.send(tooManyRequests(request));
    const served: Promise<void> = serveRequest(request, allowed, services)
      .then((reply) => void program.send(reply))
      .finally(() => open.delete(served));
    open.add(served);
  };
  // A program that stays ready was started by an earlier call: its output arrives in the
  // asynchronous context of that call, and requests would be served for the task of that call.
  program.listen({
    line: AsyncResource.bind((text: string) => {
      const message = parseObject(text);
      if (message !== undefined && isRequest(message)) return serve(message);
      const line = logLine(message, 'log');
      if (line !== undefined) return note(line);
      if (text.trim() !== '') onResult(text);
    }),
    said: AsyncResource.bind((text: string) => {
      if (text.trim() === '') return;
      const message = parseObject(text);
      const line = logLine(message, 'log') ?? logLine(message, 'level') ?? { level: 'info', text };
      lastWords = `${lastWords}${line.text}\n`.slice(-limits.lastWords);
      note(line);
    }),
  });
  return () => ({ lastWords: lastWords.trim(), pending: Promise.allSettled(open), waited });
}

function isRequest(message: JsonObject): message is RequestMessage {
  return typeof message['request'] === 'string' && Number.isSafeInteger(message['id']);
}

interface LogLine {
  readonly level: LogLevel;
  readonly text: string;
}

/** `{"log": "info", "message": "…"}`; on standard error `level` in place of `log` is accepted too. */
function logLine(message: JsonObject | undefined, key: 'log' | 'level'): LogLine | undefined {
  const level = logLevels.find((known) => known === message?.[key]);
  const { message: text, attributes } = message ?? {};
  if (level === undefined || typeof text !== 'string') return undefined;
  // Attributes are added to the text, so that secrets in them are redacted too.
  return { level, text: attributes === undefined ? text : `${text} ${JSON.stringify(attributes)}` };
}
