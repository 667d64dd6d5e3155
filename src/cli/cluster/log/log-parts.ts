import { setTimeout as sleep } from 'node:timers/promises';
import { StoreError, type LogArchive } from '../../../store/store.js';
import { findLog, type LogTimes } from './find-logs.js';
import { LogReader, mergeLogs, type LogEntry } from './log-files.js';

/** The last lines of one log, as they were printed and logged; none when the log cannot be read here. */
export async function readLogEnd(
  archive: LogArchive,
  name: string,
  times: LogTimes,
  lines: number,
): Promise<readonly string[]> {
  let last: readonly string[] = [];
  for await (const entry of readEntries(archive, name, times))
    last = [...last, ...linesOf(entry)].slice(-lines);
  return last;
}

function linesOf({ text, level, message }: LogEntry): readonly string[] {
  if (text !== undefined) return text.replace(/\n$/, '').split('\n');
  return message === undefined || level === 'debug' ? [] : [`${level ?? 'info'}: ${message}`];
}

interface Printed {
  readonly stdout: string;
  readonly stderr: string;
}

const pollMs = 500;

/**
 * All that the last attempt of a task printed. The log of a task that has ended may still be on its way here.
 * Nothing is printed if its end does not arrive, and `cutAt` is its size if it was cut.
 */
export async function readPrinted(
  archive: LogArchive,
  name: string,
  times: LogTimes,
): Promise<{ readonly printed?: Printed; readonly cutAt?: number }> {
  const until = Date.now() + archive.lagMs;
  for (;;) {
    const { ended, printed, cutAt } = await readAttempt(archive, name, times);
    if (ended && cutAt === undefined) return { printed };
    if (cutAt !== undefined || Date.now() > until) return { cutAt };
    await sleep(pollMs);
  }
}

async function readAttempt(
  archive: LogArchive,
  name: string,
  times: LogTimes,
): Promise<{ readonly ended: boolean; readonly printed: Printed; readonly cutAt?: number }> {
  let cutAt: number | undefined;
  let printed = { stdout: '', stderr: '' };
  let ended = false;
  for await (const { stream, text = '', message = '' } of readEntries(archive, name, times)) {
    const [, cut] = /^\[heddle: this log was cut at (\d+) bytes\]$/.exec(message) ?? [];
    if (cut !== undefined) cutAt = Number(cut);
    if (stream !== undefined) printed[stream] += text;
    else if (/^attempt \d+ ended$/.test(message)) ended = true;
    else if (/^attempt \d+$/.test(message)) {
      // A later attempt repeats the output of the run from the start.
      printed = { stdout: '', stderr: '' };
      ended = false;
      cutAt = undefined;
    }
  }
  return { ended, printed, cutAt };
}

async function* readEntries(archive: LogArchive, name: string, times: LogTimes): AsyncGenerator<LogEntry> {
  try {
    const readers = (await findLog(archive, name, times)).map((source) => new LogReader(source));
    for await (const { entry } of mergeLogs(readers)) yield entry;
  } catch (error) {
    // The server has the end of what was printed, which serves while an object store does not answer.
    if (!(error instanceof StoreError)) throw error;
  }
}
