import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { openTaskLog, type TaskLog } from '../../src/activities/task-log.js';
import { createRedactor, type Redactor } from '../../src/secrets/redact.js';
import { createFolderStore } from '../../src/store/folder.js';
import { currentPath } from '../../src/store/store.js';
import { newFolder } from '../harness/folder.js';

const name = 'u/app-1/1.1.web.START.1.log';
let folder: string;
let redactor: Redactor;

beforeEach(async () => {
  folder = newFolder();
  redactor = createRedactor([]);
});

function open(logLimit?: number): TaskLog {
  return openTaskLog(createFolderStore({ folder, logLimit }), name, () => redactor);
}

function written(): Promise<string> {
  return readFile(join(folder, 'logs', currentPath(name)), 'utf8');
}

/** The lines that are entries; others must be empty or the notice that the log was cut. */
async function entries(): Promise<
  readonly { readonly stream?: string; readonly text?: string; readonly message?: string }[]
> {
  const lines = (await written())
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('[heddle: this log was cut'));
  return lines.map((line) => JSON.parse(line) as { stream?: string; text?: string });
}

async function textOf(stream: string): Promise<string> {
  return (await entries())
    .filter((entry) => entry.stream === stream)
    .map(({ text }) => text ?? '')
    .join('');
}

describe('a task log', () => {
  it('contains all output in its order, whatever the size of the chunks', async () => {
    const log = open();
    const text = Array.from({ length: 40_000 }, (_, index) => `line ${index} ä\n`).join('');
    const bytes = Buffer.from(text);
    await log.print('stdout', bytes.subarray(0, 300_001));
    log.note('info', 'between');
    for (let at = 300_001; at < bytes.length; at += 777)
      void log.print('stdout', bytes.subarray(at, at + 777));
    expect(await log.close()).toBeUndefined();
    expect(await textOf('stdout')).toBe(text);
    expect((await entries()).some(({ message }) => message === 'between')).toBe(true);
  });

  it('keeps whole lines up to its limit and says where it was cut', async () => {
    const log = open(100_000);
    await log.print('stdout', Buffer.alloc(4_000_000, 'y'));
    log.note('info', 'too late');
    await log.print('stdout', Buffer.from(`${'z'.repeat(3_000)}the very end`));
    await log.close();
    expect((await textOf('stdout')).length).toBeGreaterThan(80_000);
    const text = await written();
    expect(Buffer.byteLength(text)).toBeLessThan(100_100);
    expect(text).toMatch(/\n\[heddle: this log was cut at 100000 bytes\]\n$/);
    expect(log.tails().stdout).toMatch(/^z+the very end$/);
  });

  it('returns tails of whole characters, of binary output too', async () => {
    const log = open();
    await log.print('stdout', Buffer.from('ä'.repeat(3_000)));
    await log.print('stderr', Buffer.from([0xff, 0x41, 0x00]));
    expect(log.tails()).toEqual({
      stdout: 'ä'.repeat(1_024),
      stderr: '[heddle: bytes that are not UTF-8 are shown as \uFFFD; the log has them]\n\uFFFDA\0',
    });
    await log.close();
  });

  it('escapes control characters of terminals', async () => {
    const log = open();
    const nasty = '\u001b[2J\u009b31m\u202e\u2028\u007f';
    await log.print('stdout', Buffer.from(nasty));
    log.note('warn', nasty, { nasty });
    await log.close();
    expect(await written()).not.toMatch(/[^\P{Cc}\n]|[\u2028-\u202e]/u);
    expect(await textOf('stdout')).toBe(nasty);
  });

  it('hides a secret from the moment it is known, within a stream and across chunks', async () => {
    const log = open();
    await log.print('stdout', Buffer.from('before '));
    redactor = createRedactor(['hunter2-hunter2', 'line one\nline two of it']);
    await log.print('stdout', Buffer.from(`${'x'.repeat(8_185)}hunter2-hun`));
    await log.print('stdout', Buffer.from('ter2 line one\nline t'));
    redactor = createRedactor(['hunter2-hunter2', 'line one\nline two of it', 'third-secret']);
    await log.print('stdout', Buffer.from('hird-secret'));
    await log.close();
    const text = await textOf('stdout');
    expect(text).toBe(`before ${'x'.repeat(8_185)}(secret) line one\nline (secret)`);
  });

  it('reports that it cannot be written, without failing the task', async () => {
    const log = openTaskLog(
      { append: () => Promise.reject(new Error('no space left')), flush: () => undefined },
      name,
      () => redactor,
    );
    await log.print('stdout', Buffer.alloc(1_000_000, 'y'));
    expect(log.tails().stdout).toBe('y'.repeat(2_048));
    expect(await log.close()).toMatchObject({ message: 'no space left' });
  });
});
