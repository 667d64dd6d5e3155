import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createFolderStore } from '../../src/store/folder.js';
import { measureLogs, pruneLogs } from '../../src/store/prune-logs.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'heddle-logs-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const day = 86_400_000;

function age(name: string, days: number): void {
  const at = new Date(Date.now() - days * day);
  utimesSync(join(folder, 'logs', name), at, at);
}

it('removes logs without recent writes, with folders that contain nothing else', async () => {
  const store = createFolderStore({ folder });
  for (const name of ['old/app-1/1.log', 'mixed/app-1/1.log', 'mixed/app-1/2.log', 'mixed/app-2/1.log'])
    await store.append(name, Buffer.from('line\n'));
  mkdirSync(join(folder, 'logs', 'mixed', 'app-3'));
  writeFileSync(join(folder, 'logs', 'mixed', 'app-3', 'notes.txt'), 'not ours');
  for (const name of ['old/app-1/1.log', 'mixed/app-1/1.log', 'mixed/app-2/1.log', 'mixed/app-3/notes.txt'])
    age(name, 100);
  expect(await pruneLogs({ folder, before: Date.now() - 90 * day })).toBe(3);
  expect(existsSync(join(folder, 'logs', 'old'))).toBe(false);
  expect(existsSync(join(folder, 'logs', 'mixed', 'app-2'))).toBe(false);
  expect(readFileSync(join(folder, 'logs', 'mixed', 'app-1', '2.log'), 'utf8')).toBe('line\n');
  expect(existsSync(join(folder, 'logs', 'mixed', 'app-3', 'notes.txt'))).toBe(true);
});

it('removes the logs that were written the longest ago, beyond a number and a size', async () => {
  const store = createFolderStore({ folder });
  for (const [index, name] of ['u/a/1.log', 'u/a/2.log', 'u/b/3.log', 'u/b/4.log'].entries()) {
    await store.append(name, Buffer.alloc(100, 'x'));
    age(name, 10 - index);
  }
  const before = Date.now() - 90 * day;
  expect(await measureLogs(folder)).toEqual({ files: 4, bytes: 400 });
  expect(await pruneLogs({ folder, before, bounds: { files: 3, bytes: 1_000 } })).toBe(1);
  expect(existsSync(join(folder, 'logs', 'u', 'a', '1.log'))).toBe(false);
  expect(await pruneLogs({ folder, before, bounds: { files: 3, bytes: 250 } })).toBe(1);
  expect(existsSync(join(folder, 'logs', 'u', 'a'))).toBe(false);
  expect(await measureLogs(folder)).toEqual({ files: 2, bytes: 200 });
});

it('does nothing without logs, and a removed log can be started again', async () => {
  expect(await pruneLogs({ folder, before: Date.now() })).toBe(0);
  const store = createFolderStore({ folder });
  await store.append('u/app-1/1.log', Buffer.from('first\n'));
  expect(await pruneLogs({ folder, before: Date.now() + day })).toBe(1);
  await store.append('u/app-1/1.log', Buffer.from('second\n'));
  expect(readFileSync(join(folder, 'logs', 'u', 'app-1', '1.log'), 'utf8')).toBe('second\n');
});
