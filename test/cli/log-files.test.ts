import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { openTaskLog } from '../../src/activities/task-log.js';
import { findLogs, type LogEntry, LogReader, mergeLogs } from '../../src/cli/cluster/log/log-files.js';
import { createRedactor } from '../../src/secrets/redact.js';
import { createFolderStore, openFolderArchive } from '../../src/store/folder.js';

const folder = mkdtempSync(join(tmpdir(), 'heddle-test-logs-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

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
  const sources = await findLogs(openFolderArchive(folder), 'uid');
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
