import { lstat } from 'node:fs/promises';
import { type LogEntry, logFileOf, LogReader } from './log-files.js';

/** The last lines of one log, as they were printed and logged; none when the log is not here. */
export async function readLogEnd(
  storeFolder: string,
  name: string,
  lines: number,
): Promise<readonly string[]> {
  let last: readonly string[] = [];
  for await (const entry of readEntries(logFileOf(storeFolder, name)))
    last = [...last, ...linesOf(entry)].slice(-lines);
  return last;
}

function linesOf({ text, level, message }: LogEntry): readonly string[] {
  if (text !== undefined) return text.replace(/\n$/, '').split('\n');
  return message === undefined ? [] : [`${level ?? 'info'}: ${message}`];
}

/** All that the last attempt of a task printed; undefined when its log is not here. */
export async function readPrinted(
  storeFolder: string,
  name: string,
): Promise<{ readonly stdout: string; readonly stderr: string } | undefined> {
  const file = logFileOf(storeFolder, name);
  if (!(await exists(file))) return undefined;
  let printed = { stdout: '', stderr: '' };
  for await (const { stream, text = '', message = '' } of readEntries(file)) {
    if (stream !== undefined) printed[stream] += text;
    // A later attempt repeats the output of the run from the start.
    else if (/^attempt \d+$/.test(message)) printed = { stdout: '', stderr: '' };
  }
  return printed;
}

async function* readEntries(file: string): AsyncGenerator<LogEntry> {
  if (!(await exists(file))) return;
  const reader = new LogReader({ file });
  for (let entry = await reader.peek(); entry !== undefined; entry = await reader.peek()) {
    reader.take();
    yield entry;
  }
}

function exists(file: string): Promise<boolean> {
  return lstat(file).then(
    (stat) => stat.isFile(),
    () => false,
  );
}
