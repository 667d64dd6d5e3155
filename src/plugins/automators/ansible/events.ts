import { isJsonObject, type Json, type JsonObject } from '../../../model/json.js';
import type { PluginLog } from '../../contract.js';

/** What a play did, as its events tell. */
export interface PlayStory {
  /** Tasks that were carried out on the node. */
  readonly tasks: number;
  /** A play was for the node. */
  readonly played: boolean;
  readonly failed?: Failure;
  readonly unreachable?: string;
  /** What set_stats said. */
  readonly custom: JsonObject;
  /** For people: each task, what came of it, and what it printed. */
  readonly transcript: string;
}

export interface Failure {
  readonly task: string;
  readonly message: string;
  readonly rc?: number;
  readonly stdout: string;
  readonly stderr: string;
}

const longest = 48 * 1024;
const marks: Readonly<Record<string, string>> = {
  ok: 'ok',
  skipped: 'skipped',
  failed: 'failed',
  unreachable: 'unreachable',
  retry: 'is tried again',
  'item-failed': 'an item failed',
};

/** Reads events as they come, shows them as progress, and keeps what matters at the end. */
export class PlayReader {
  readonly #log: PluginLog;
  #tasks = 0;
  #plays = 0;
  #unmatched = 0;
  #failed: Failure | undefined;
  #unreachable: string | undefined;
  #custom: JsonObject = {};
  #transcript = '';

  constructor(log: PluginLog) {
    this.#log = log;
  }

  read(line: string): void {
    const event = parse(line);
    if (event === undefined) return;
    const text = (key: string): string => (typeof event[key] === 'string' ? event[key] : '');
    switch (text('event')) {
      case 'play':
        this.#plays += 1;
        return this.#write(`PLAY [${text('name')}]`);
      case 'no-hosts':
        this.#unmatched += 1;
        return;
      case 'task':
        return this.#log.debug(`TASK [${text('task')}]`);
      case 'stats':
        if (isJsonObject(event['custom'])) this.#custom = event['custom'];
        return;
      default:
        return this.#readResult(event, text);
    }
  }

  story(): PlayStory {
    return {
      tasks: this.#tasks,
      played: this.#plays > this.#unmatched,
      custom: this.#custom,
      transcript: this.#transcript,
      failed: this.#failed,
      unreachable: this.#unreachable,
    };
  }

  #readResult(event: JsonObject, text: (key: string) => string): void {
    const kind = text('event');
    const mark = marks[kind];
    if (mark === undefined) return;
    this.#tasks += kind === 'ok' || kind === 'failed' ? 1 : 0;
    const message = text('msg') || text('reason');
    const said = kind === 'ok' && event['changed'] === true ? 'changed' : mark;
    const bad = kind !== 'ok' && kind !== 'skipped';
    const ignored = event['ignored'] === true;
    const stdout = text('stdout') || text('module_stdout');
    const stderr = text('stderr') || text('module_stderr');
    this.#write(
      [
        `TASK [${text('task')}] ${said}${bad && message !== '' ? `: ${message}` : ''}${ignored ? ' (ignored)' : ''}`,
        stdout,
        stderr,
      ]
        .filter((part) => part !== '')
        .join('\n'),
    );
    this.#log[bad ? 'warn' : 'info'](
      `TASK [${text('task')}] ${said}${bad && message !== '' ? `: ${firstLine(message)}` : ''}`,
    );
    if (kind === 'failed' && !ignored) {
      const { rc } = event;
      this.#failed = {
        task: text('task'),
        message,
        stdout,
        stderr,
        ...(typeof rc === 'number' && Number.isInteger(rc) && rc >= 0 && rc <= 255 ? { rc } : {}),
      };
    }
    if (kind === 'unreachable') this.#unreachable = message;
  }

  #write(text: string): void {
    this.#transcript = `${this.#transcript}${text}\n`.slice(-longest);
  }
}

function parse(line: string): JsonObject | undefined {
  try {
    const value = JSON.parse(line) as Json;
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
