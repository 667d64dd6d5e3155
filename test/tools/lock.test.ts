import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeEach, expect, test } from 'vitest';
import { newFolder } from '../harness/folder.js';

const lockModule = pathToFileURL(join(import.meta.dirname, '..', '..', 'tools', 'lock.mjs')).href;
let folder: string;

beforeEach(() => {
  folder = newFolder();
});

/**
 * A process that takes the lock and, under it, writes "in" and "out" with something between them. Gives its
 * stdout.
 */
async function workUnderLock(name: string, between = 'await sleep(30)', whileWaiting = '0'): Promise<string> {
  const [lock, log] = [join(folder, 'lock'), join(folder, 'log')].map((file) => JSON.stringify(file));
  const code = `
    const { withLock } = await import(${JSON.stringify(lockModule)});
    const { appendFileSync, writeFileSync } = await import('node:fs');
    const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    await withLock(${lock}, { waiting: () => { console.log('waiting'); ${whileWaiting}; }, work: async () => {
      appendFileSync(${log}, '${name} in\\n');
      ${between};
      appendFileSync(${log}, '${name} out\\n');
    } });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
  const [exitCode] = await once(child, 'close');
  if (exitCode !== 0) throw new Error(`exit code ${exitCode}`);
  return output;
}

async function expectTurns(count: number): Promise<void> {
  const lines = (await readFile(join(folder, 'log'), 'utf8')).trim().split('\n');
  expect(lines).toHaveLength(2 * count);
  for (let i = 0; i < lines.length; i += 2) {
    expect(lines[i + 1]).toBe(lines[i]?.replace(' in', ' out'));
  }
  expect(await readdir(folder)).toEqual(['log']);
}

test('processes that need the same lock work one after the other', async () => {
  await Promise.all(['a', 'b', 'c', 'd'].map((name) => workUnderLock(name)));
  await expectTurns(4);
});

test('the lock of a dead process is taken over by one at a time', async () => {
  const dead = spawn(process.execPath, ['-e', '']);
  await once(dead, 'close');
  await writeFile(join(folder, 'lock'), String(dead.pid));
  await Promise.all(['a', 'b', 'c'].map((name) => workUnderLock(name)));
  await expectTurns(3);
});

test('an error in the work releases the lock', async () => {
  await expect(workUnderLock('a', 'throw new Error("on purpose")')).rejects.toThrow('exit code 1');
  await workUnderLock('b');
  expect(await readdir(folder)).toEqual(['log']);
});

test('a waiting process is told so, once', async () => {
  // The first goes on only when the second has said that it waits.
  const told = JSON.stringify(join(folder, 'told'));
  const untilTold = `const { existsSync } = await import('node:fs'); while (!existsSync(${told})) await sleep(20)`;
  const words = await Promise.all(
    ['a', 'b'].map((name) => workUnderLock(name, untilTold, `writeFileSync(${told}, '')`)),
  );
  expect(words.sort()).toEqual(['', 'waiting\n']);
});
