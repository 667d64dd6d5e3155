import { constants } from 'node:fs';
import { access, open } from 'node:fs/promises';
import { basename } from 'node:path';
import { type LogEntry, logFileOf, LogReader } from './log-files.js';

const endBytes = 64 * 1024;

/** The last lines of one log, as they were printed and logged; none when the log is not here. */
export async function readLogEnd(
  storeFolder: string,
  name: string,
  lines: number,
): Promise<readonly string[]> {
  const file = logFileOf(storeFolder, name);
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW).catch(() => undefined);
  if (handle === undefined) return [];
  try {
    const { size } = await handle.stat();
    const length = Math.min(size, endBytes);
    const { buffer } = await handle.read(Buffer.alloc(length), 0, length, size - length);
    const whole = buffer
      .toString('utf8')
      .split('\n')
      .slice(size > length ? 1 : 0)
      .filter((line) => line !== '');
    return whole.flatMap(textOfLine).slice(-lines);
  } finally {
    await handle.close();
  }
}

function textOfLine(line: string): readonly string[] {
  try {
    const entry = JSON.parse(line) as Partial<LogEntry> | null;
    if (entry?.text !== undefined) return entry.text.replace(/\n$/, '').split('\n');
    return entry?.message === undefined ? [] : [`${entry.level ?? 'info'}: ${entry.message}`];
  } catch {
    return [line];
  }
}

/** All that the last attempt of a task printed; undefined when its log is not here. */
export async function readPrinted(
  storeFolder: string,
  name: string,
): Promise<{ readonly stdout: string; readonly stderr: string } | undefined> {
  const file = logFileOf(storeFolder, name);
  if (
    !(await access(file).then(
      () => true,
      () => false,
    ))
  )
    return undefined;
  const reader = new LogReader({
    file,
    node: '',
    operation: '',
    incarnation: 0,
    action: basename(name),
    run: 0,
  });
  let printed = { stdout: '', stderr: '' };
  for (let entry = await reader.peek(); entry !== undefined; entry = await reader.peek()) {
    reader.take();
    // A later attempt repeats the output of the run from the start.
    if (isAttempt(entry)) printed = { stdout: '', stderr: '' };
    else if (entry.stream !== undefined) printed[entry.stream] += entry.text ?? '';
  }
  return printed;
}

function isAttempt({ stream, message }: LogEntry): boolean {
  return stream === undefined && /^attempt \d+$/.test(message ?? '');
}
