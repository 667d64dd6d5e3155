import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { createFolderStore } from '../../src/store/folder.js';
import { measureLogs, pruneLogs } from '../../src/store/prune-logs.js';
import { currentPath } from '../../src/store/store.js';
import { newFolder } from '../harness/folder.js';

let folder: string;
beforeEach(() => {
  folder = newFolder();
});

const bounds = { logDays: 90, logFiles: 100, logMb: 1 };
const fileOf = (name: string): string => join(folder, 'logs', currentPath(name));

function age(file: string, days: number): void {
  const at = new Date(Date.now() - days * 86_400_000);
  utimesSync(file, at, at);
}

it('removes logs without recent writes, with folders that contain nothing else', async () => {
  const store = createFolderStore({ folder });
  for (const name of ['old/app-1/1.log', 'mixed/app-1/1.log', 'mixed/app-1/2.log', 'mixed/app-2/1.log'])
    await store.append(name, Buffer.from('line\n'));
  const notes = join(dirname(fileOf('mixed/app-3/1.log')), 'notes.txt');
  mkdirSync(dirname(notes));
  writeFileSync(notes, 'not ours');
  const old = ['old/app-1/1.log', 'mixed/app-1/1.log', 'mixed/app-2/1.log'].map((name) => fileOf(name));
  for (const file of [...old, notes]) age(file, 100);
  expect(await pruneLogs(folder, bounds)).toBe(3);
  expect(readdirSync(join(folder, 'logs'))).toEqual(['mixed']);
  expect(existsSync(dirname(fileOf('mixed/app-2/1.log')))).toBe(false);
  expect(readFileSync(fileOf('mixed/app-1/2.log'), 'utf8')).toBe('line\n');
  expect(existsSync(notes)).toBe(true);
});

it('removes the logs that were written the longest ago, beyond a number and a size', async () => {
  const store = createFolderStore({ folder });
  for (const [index, name] of ['u/a/1.log', 'u/a/2.log', 'u/b/3.log', 'u/b/4.log'].entries()) {
    await store.append(name, Buffer.alloc(300_000, 'x'));
    age(fileOf(name), 10 - index);
  }
  expect(await measureLogs(folder)).toEqual({ files: 4, bytes: 1_200_000 });
  expect(await pruneLogs(folder, { ...bounds, logFiles: 3, logMb: 2 })).toBe(1);
  expect(existsSync(fileOf('u/a/1.log'))).toBe(false);
  await store.append('u/b/5.log', Buffer.alloc(300_000, 'x'));
  expect(await pruneLogs(folder, bounds)).toBe(1);
  expect(existsSync(dirname(fileOf('u/a/2.log')))).toBe(false);
  expect(await measureLogs(folder)).toEqual({ files: 3, bytes: 900_000 });
});

it('does nothing without logs, and a removed log can be started again', async () => {
  expect(await pruneLogs(folder, bounds)).toBe(0);
  const store = createFolderStore({ folder });
  await store.append('u/app-1/1.log', Buffer.from('first\n'));
  age(fileOf('u/app-1/1.log'), 91);
  expect(await pruneLogs(folder, bounds)).toBe(1);
  expect(readdirSync(join(folder, 'logs'))).toEqual([]);
  await store.append('u/app-1/1.log', Buffer.from('second\n'));
  expect(readFileSync(fileOf('u/app-1/1.log'), 'utf8')).toBe('second\n');
});
