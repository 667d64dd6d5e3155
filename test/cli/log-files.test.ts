import { utimesSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { openTaskLog, type TaskLog } from '../../src/activities/task-log.js';
import { ClusterLogs, readLogs } from '../../src/cli/cluster/log/cluster-logs.js';
import { findLogs, type LogFilter, type LogSource } from '../../src/cli/cluster/log/find-logs.js';
import {
  type LogEntry,
  LogReader,
  mergeLogs,
  type PlacedEntry,
  readLastLines,
} from '../../src/cli/cluster/log/log-files.js';
import { readPrinted } from '../../src/cli/cluster/log/log-parts.js';
import { createRedactor } from '../../src/secrets/redact.js';
import { createFolderStore, openFolderArchive } from '../../src/store/folder.js';
import { currentPath, dayOf, type LogArchive } from '../../src/store/store.js';
import { newFolder } from '../harness/folder.js';

const folder = newFolder();

const logsOfToday = (clusterUid: string): Promise<readonly LogSource[]> =>
  findLogs(openFolderArchive(folder), { clusterUid }, dayOf(Date.now()));

it('a line that a connection delivers in pieces is read as one line', async () => {
  const name = 'uid/app-1/1.1.web.START.1.log';
  const redactor = createRedactor([]);
  const log = openTaskLog(createFolderStore({ folder }), name, () => redactor);
  log.note('info', 'attempt 1');
  for (const piece of ['the token ', 'is (sec', 'ret)\n', 'second\n', 'no end'])
    await log.print('stdout', Buffer.from(piece));
  await log.print('stderr', Buffer.from('an error\n'));
  log.note('info', 'attempt 1 ended');
  await log.close();

  const read: Pick<LogEntry, 'stream' | 'text' | 'message'>[] = [];
  const sources = await logsOfToday('uid');
  for await (const { entry } of mergeLogs(sources.map((source) => new LogReader(source)))) {
    const { stream, text, message } = entry;
    read.push(message === undefined ? { stream, text } : { message });
  }
  expect(read).toEqual([
    { message: 'attempt 1' },
    { stream: 'stdout', text: 'the token is (secret)\n' },
    { stream: 'stdout', text: 'second\n' },
    { stream: 'stdout', text: 'no end' },
    { stream: 'stderr', text: 'an error\n' },
    { message: 'attempt 1 ended' },
  ]);
});

it('output that is not UTF-8 is kept byte for byte, and a character in two pieces is not torn', async () => {
  const name = 'binary/app-1/1.1.-.EXEC.1.log';
  const redactor = createRedactor([]);
  const log = openTaskLog(createFolderStore({ folder }), name, () => redactor);
  const bytes = Buffer.from([0, 255, 0x1b, 0x80, 0xe4, 10]);
  await log.print('stdout', bytes);
  const euro = Buffer.from('€');
  await log.print('stderr', euro.subarray(0, 1));
  await log.print('stderr', euro.subarray(1));
  await log.close();
  const sources = await logsOfToday('binary');
  const read: LogEntry[] = [];
  for await (const { entry } of mergeLogs(sources.map((source) => new LogReader(source)))) read.push(entry);
  expect(Buffer.from(read[0]?.bytes ?? '', 'base64')).toEqual(bytes);
  expect(read[0]?.text).toContain('\uFFFD');
  expect(read.slice(1).map(({ stream, text, bytes: none }) => ({ stream, text, none }))).toEqual([
    { stream: 'stderr', text: '€' },
  ]);
});

it('the last lines of many logs are read without the logs that were not written to since', async () => {
  const store = createFolderStore({ folder });
  for (let log = 1; log <= 5; log++) {
    const name = `tail/app-1/${log}.1.web.START.1.log`;
    const line = (minute: number) =>
      JSON.stringify({
        t: `2026-01-01T0${log}:0${minute}:00.000Z`,
        stream: 'stdout',
        text: `${log}.${minute}\nx\n`,
      });
    await store.append(name, Buffer.from(`${[1, 2].map((minute) => line(minute)).join('\n')}\n`));
    const at = new Date(`2026-01-01T0${log}:02:00.000Z`);
    utimesSync(join(folder, 'logs', currentPath(name)), at, at);
  }
  const read: string[] = [];
  const sources = (await logsOfToday('tail')).map((source) => ({
    ...source,
    stored: {
      ...source.stored,
      read: (range: Parameters<typeof source.stored.read>[0]) => {
        read.push(source.operation);
        return source.stored.read(range);
      },
    },
  }));
  const last = await readLastLines(
    sources.map((source) => new LogReader(source)),
    5,
    ({ text }) => text !== undefined,
  );
  expect(last.map(({ entry }) => entry.text)).toEqual(['x\n', '5.1\n', 'x\n', '5.2\n', 'x\n']);
  expect([...new Set(read)]).toEqual(['5', '4']);
});

it('a log that was cut is not taken for all that a task printed, and says where it was cut', async () => {
  const name = 'cut/app-1/1.1.-.EXEC.1.log';
  const redactor = createRedactor([]);
  const log = openTaskLog(createFolderStore({ folder, logLimit: 10_000 }), name, () => redactor);
  log.note('info', 'attempt 1');
  await log.print('stdout', Buffer.alloc(50_000, 'x'));
  log.note('debug', 'attempt 1 ended');
  await log.close();
  expect(await readPrinted(openFolderArchive(folder), name, { from: Date.now() })).toEqual({ cutAt: 10_000 });
});

it('a log that was cut on one day and ended on the next is not taken for all that a task printed', async () => {
  const name = 'days/app-1/1.1.-.EXEC.1.log';
  const redactor = createRedactor([]);
  vi.useFakeTimers({ now: Date.parse('2026-11-26T22:00:00Z'), toFake: ['Date'] });
  try {
    const write = async (work: (log: TaskLog) => unknown): Promise<void> => {
      const log = openTaskLog(createFolderStore({ folder, logLimit: 10_000 }), name, () => redactor);
      await work(log);
      await log.close();
    };
    const times = { from: Date.now(), until: Date.parse('2026-11-28T01:00:00Z') };
    await write((log) => {
      log.note('info', 'attempt 1');
      return log.print('stdout', Buffer.from('whole\n'));
    });
    vi.setSystemTime(Date.parse('2026-11-28T00:30:00Z'));
    await write((log) => log.note('debug', 'attempt 1 ended'));
    const archive = openFolderArchive(folder);
    expect(await readPrinted(archive, name, times)).toMatchObject({ printed: { stdout: 'whole\n' } });
    vi.setSystemTime(Date.parse('2026-11-27T12:00:00Z'));
    await write(async (log) => {
      log.note('warn', 'much output');
      await log.print('stdout', Buffer.alloc(50_000, 'x'));
    });
    expect(await readPrinted(archive, name, times)).toEqual({ cutAt: 10_000 });
  } finally {
    vi.useRealTimers();
  }
});

it('the last lines, lines since a time and those of an operation read no other days or logs', async () => {
  const store = createFolderStore({ folder });
  vi.useFakeTimers({ toFake: ['Date'] });
  for (let day = 1; day <= 9; day++) {
    const at = Date.parse(`2026-05-0${day}T12:00:00Z`);
    vi.setSystemTime(at);
    for (const operation of [2 * day, 2 * day + 1]) {
      const name = `many/app-1/${operation}.1.-.EXEC.1.log`;
      const line = JSON.stringify({ t: new Date(at + operation).toISOString(), level: 'info', message: 'x' });
      await store.append(name, Buffer.from(`${line}\n`));
      const written = new Date(at + operation);
      utimesSync(join(folder, 'logs', currentPath(name)), written, written);
    }
  }
  vi.useRealTimers();
  const folderArchive = openFolderArchive(folder);
  const visited: string[] = [];
  const archive: LogArchive = {
    ...folderArchive,
    async find(scope) {
      const found = await folderArchive.find(scope);
      visited.push(...(found.length === 0 ? [] : [`${scope.day}: ${found.length}`]));
      return found;
    },
  };
  const printed = async (
    filter: Partial<LogFilter>,
    options: { readonly from?: number; readonly tail?: number } = {},
  ): Promise<readonly string[]> => {
    visited.length = 0;
    const logs = new ClusterLogs(archive, { clusterUid: 'many', ...filter });
    const lines: string[] = [];
    const take = ({ source }: PlacedEntry): unknown => lines.push(source.operation);
    expect(await readLogs(logs, { ...options, isShown: () => true }, take)).toBe(true);
    return lines;
  };
  expect(await printed({}, { tail: 3 })).toEqual(['17', '18', '19']);
  expect(visited).toEqual(['2026-05-09: 2', '2026-05-08: 2']);
  expect(await printed({}, { from: Date.parse('2026-05-09T00:00:00Z') })).toEqual(['18', '19']);
  expect(visited).toEqual(['2026-05-09: 2']);
  expect(await printed({ operation: '1' }).catch(() => 'none')).toBe('none');
  expect(await printed({ operation: '11' })).toEqual(['11']);
  expect(visited).toEqual(['2026-05-05: 1']);
});
