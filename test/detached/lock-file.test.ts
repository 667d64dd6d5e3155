import { spawn, spawnSync } from 'node:child_process';
import { readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { endedLongAgo, isHeld, takeLock, type HeldLock } from '../../src/detached/lock-file.js';
import { markOf } from '../../src/detached/process-mark.js';
import { newFolder } from '../harness/folder.js';

let folder: string;
let file: string;

beforeEach(async () => {
  folder = newFolder();
  file = join(folder, 'lock');
});

async function take(): Promise<HeldLock> {
  const lock = await takeLock(file);
  if (!isHeld(lock)) throw new Error(`process ${lock.owner.pid} holds it`);
  return lock;
}

/** As a process that was killed leaves it. */
async function leaveStale(started = 'an earlier boot'): Promise<void> {
  const { pid } = spawnSync(process.execPath, ['-e', '']);
  await writeFile(file, JSON.stringify({ owner: { pid, started } }));
}

describe('a lock file', () => {
  it('is held until it is released, and says by which process and what that process wrote', async () => {
    const lock = await take();
    await lock.write({ address: '127.0.0.1:7233' });
    expect(await takeLock(file)).toEqual({
      owner: await markOf(process.pid),
      data: { address: '127.0.0.1:7233' },
    });
    await lock.release();
    await (await take()).release();
    expect(await readdir(folder)).toEqual([]);
  });

  it('of a process that has ended is taken over by one of many', async () => {
    await leaveStale();
    const taken = await Promise.all(Array.from({ length: 50 }, () => takeLock(file)));
    expect(taken.filter(isHeld)).toHaveLength(1);
    expect(await readdir(folder)).toEqual(['lock']);
  });

  it('of an earlier process with the same pid is taken over', async () => {
    const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    const { pid = 0 } = other;
    await writeFile(file, JSON.stringify({ owner: { pid, started: 'earlier' } }));
    await take();
    await writeFile(file, JSON.stringify({ owner: await markOf(pid) }));
    expect(await takeLock(file)).toMatchObject({ owner: { pid } });
    other.kill();
  });

  it('is left to the process that has taken it over', async () => {
    const lock = await take();
    const { pid } = process;
    const others = JSON.stringify({ owner: { pid, started: 'in another container' } });
    await writeFile(file, others);
    await lock.release();
    expect(await readFile(file, 'utf8')).toBe(others);
  });

  it('that processes of other containers share is taken over only after 10 seconds', async () => {
    await leaveStale();
    const isStale = endedLongAgo(file);
    expect(isHeld(await takeLock(file, { isStale }))).toBe(false);
    const earlier = new Date(Date.now() - 11_000);
    await utimes(file, earlier, earlier);
    expect(isHeld(await takeLock(file, { isStale }))).toBe(true);
  });

  it('with other content is not taken over', async () => {
    await writeFile(file, 'torn');
    await expect(takeLock(file)).rejects.toThrow(
      'is not a lock file of Heddle; remove it if no process uses it',
    );
  });
});
