import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  closeSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  type Stats,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { CliError } from '../cli-error.js';

/** A file that is written whole beside its place, and not there yet. */
export interface StagedFile {
  readonly path: string;
  /** Puts it in its place, over what is there. */
  commit(): void;
  /** Leaves nothing, also after a commit that failed. */
  discard(): void;
}

/**
 * Keeps mode and owner of the file that it will replace; a new one is its owner's alone.
 * @throws CliError Refused where it cannot be written.
 */
export function stageFile(path: string, text: string): StagedFile {
  const aside = join(dirname(path), `.${basename(path)}-${process.pid}-${randomBytes(4).toString('hex')}`);
  const before = statSync(path, { throwIfNoEntry: false });
  const discard = (): void => rmSync(aside, { force: true });
  try {
    writeFileSync(aside, text, { mode: 0o600, flag: 'wx', flush: true });
    if (before !== undefined) keepRights(aside, before);
  } catch (cause) {
    discard();
    throw new CliError(
      'Refused',
      `${path} cannot be written: ${cause instanceof Error ? cause.message : String(cause)}`,
      { cause },
    );
  }
  return {
    path,
    discard,
    commit() {
      renameSync(aside, path);
      syncFolder(dirname(path));
    },
  };
}

function keepRights(aside: string, { mode, uid, gid }: Stats): void {
  const own = statSync(aside);
  if (own.uid !== uid || own.gid !== gid) chownSync(aside, uid, gid);
  chmodSync(aside, mode & 0o777);
}

function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
