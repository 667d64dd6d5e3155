// @ts-check
import { randomUUID } from 'node:crypto';
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
  for (let told = false; !(await take(file));) {
    if (!told) waiting();
    told = true;
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
  await writeFile(mine, String(process.pid));
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
  const pid = Number(await readFile(file, 'utf8').catch(() => ''));
  if (!pid) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ESRCH';
  }
}

/** @param {unknown} error */
function isExisting(error) {
  return error instanceof Error && 'code' in error && error.code === 'EEXIST';
}
