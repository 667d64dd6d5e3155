import { isJsonObject, type Json, type JsonObject } from '../../../model/json.js';
import type { PluginLog } from '../../contract.js';

/** What a play did, according to its events. */
export interface PlayStory {
  /** Tasks that ran on the node. */
  readonly tasks: number;
  /** Whether a play matched the node. */
  readonly played: boolean;
  readonly failed?: Failure;
  readonly unreachable?: string;
  /** Results of set_stats. */
  readonly custom: JsonObject;
  /** For people: each task with its result and output. */
  readonly transcript: string;
}

export interface Failure {
  readonly task: string;
  readonly message: string;
  readonly rc?: number;
  readonly stdout: string;
  readonly stderr: string;
}

const maxTranscript = 48 * 1024;
const results: Readonly<Record<string, string>> = {
  ok: 'ok',
  skipped: 'skipped',
  failed: 'failed',
  unreachable: 'unreachable',
  retry: 'is retried',
  'item-failed': 'an item failed',
};

/** Reads events as they come, prints the progress, and keeps what matters at the end. */
export class PlayReader {
  readonly #log: PluginLog;
  #plays = 0;
  #unmatched = 0;
  #story = {
    tasks: 0,
    custom: {} as JsonObject,
    transcript: '',
    failed: undefined as Failure | undefined,
    unreachable: undefined as string | undefined,
  };

  readonly #print: (text: string) => Promise<void>;
  /** Texts are printed in order; a long one is printed in several parts. */
  #printing: Promise<void> = Promise.resolve();

  constructor(log: PluginLog, print: (text: string) => Promise<void>) {
    this.#log = log;
    this.#print = print;
  }

  read(line: string): void {
    const event = parse(line);
    const kind = event['event'];
    if (kind === 'play') {
      this.#plays += 1;
      this.#write(`PLAY [${textOf(event, 'name')}]`);
    } else if (kind === 'no-hosts') this.#unmatched += 1;
    else if (kind === 'task') this.#log.debug(`TASK [${textOf(event, 'task')}]`);
    else if (kind === 'stats' && isJsonObject(event['custom'])) this.#story.custom = event['custom'];
    else if (typeof kind === 'string') this.#readResult(event, kind);
  }

  /** Settles when all that was read is printed. */
  end(): Promise<void> {
    return this.#printing;
  }

  story(): PlayStory {
    return { ...this.#story, played: this.#plays > this.#unmatched };
  }

  #readResult(event: JsonObject, kind: string): void {
    const result = kind === 'ok' && event['changed'] === true ? 'changed' : results[kind];
    if (result === undefined) return;
    const task = textOf(event, 'task');
    const isBad = kind !== 'ok' && kind !== 'skipped';
    const isIgnored = event['ignored'] === true;
    const message = textOf(event, 'msg', 'reason');
    const stdout = textOf(event, 'stdout', 'module_stdout');
    const stderr = textOf(event, 'stderr', 'module_stderr');
    const head = `TASK [${task}] ${result}${isBad && message !== '' ? `: ${message}` : ''}`;
    this.#write([isIgnored ? `${head} (ignored)` : head, stdout, stderr].filter(Boolean).join('\n'));
    if (kind === 'ok' || kind === 'failed') this.#story.tasks += 1;
    if (kind === 'failed' && !isIgnored)
      this.#story.failed = { task, message, stdout, stderr, rc: exitCodeOf(event['rc']) };
    if (kind === 'unreachable') this.#story.unreachable = message;
  }

  #write(text: string): void {
    const line = `${text}\n`;
    this.#story.transcript = `${this.#story.transcript}${line}`.slice(-maxTranscript);
    this.#printing = this.#printing.then(() => this.#print(line));
  }
}

function parse(line: string): JsonObject {
  try {
    const value = JSON.parse(line) as Json;
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** The first of these keys that has a text; '' if none has. */
function textOf(event: JsonObject, ...keys: readonly string[]): string {
  return (
    (keys.map((key) => event[key]).find((value) => typeof value === 'string' && value !== '') as string) ?? ''
  );
}

function exitCodeOf(rc: Json | undefined): number | undefined {
  return typeof rc === 'number' && Number.isInteger(rc) && rc >= 0 && rc <= 255 ? rc : undefined;
}
