// @ts-check
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { link, mkdir, readFile, rm, stat, unlink, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Runs `work` while no other process of this machine holds the same lock file. A holder that died is taken
 * over.
 * @template T
 * @param {string} file
 * @param {{ waiting: () => void, work: () => Promise<T> }} options `waiting` is called once when another
 * holds the lock
 * @returns {Promise<T>}
 */
export async function withLock(file, { waiting, work }) {
  await mkdir(dirname(file), { recursive: true });
  for (let isWaiting = false; !(await take(file));) {
    if (!isWaiting) waiting();
    isWaiting = true;
    await sleep(100);
  }
  try {
    return await work();
  } finally {
    await unlink(file);
  }
}

/** A hard link appears with its content or not at all. @param {string} file */
async function take(file) {
  const mine = `${file}.${randomUUID()}`;
  await writeFile(mine, `${process.pid} ${startOf(process.pid)}`);
  try {
    await link(mine, file);
    return true;
  } catch (error) {
    if (!isExisting(error)) throw error;
    await removeWhenOrphaned(file);
    return false;
  } finally {
    await rm(mine, { force: true });
  }
}

/**
 * A second lock keeps two who saw the same dead holder from removing the lock of a living third.
 * @param {string} file
 */
async function removeWhenOrphaned(file) {
  if (!(await isOrphaned(file))) return;
  const sweep = `${file}.sweep`;
  try {
    await writeFile(sweep, '', { flag: 'wx' });
  } catch (error) {
    if (!isExisting(error)) throw error;
    const age = await stat(sweep).then(
      (info) => Date.now() - info.mtimeMs,
      () => 0,
    );
    if (age > 5_000) await rm(sweep, { force: true });
    return;
  }
  if (await isOrphaned(file)) await rm(file, { force: true });
  await rm(sweep, { force: true });
}

/** @param {string} file */
async function isOrphaned(file) {
  const [pid = '', ...started] = (await readFile(file, 'utf8').catch(() => '')).split(' ');
  return pid !== '' && startOf(Number(pid)) !== started.join(' ');
}

/** When a process started, since its pid may be reused; undefined if it does not run. @param {number} pid */
function startOf(pid) {
  if (process.platform === 'linux') {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      // The program's name is in parentheses and may contain anything.
      return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
    } catch {
      return undefined;
    }
  }
  const { status, stdout } = spawnSync('/bin/ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}

/** @param {unknown} error */
function isExisting(error) {
  return error instanceof Error && 'code' in error && error.code === 'EEXIST';
}
