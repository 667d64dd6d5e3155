import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  closeSync,
  fsyncSync,
  openSync,
  renameSync,
  rmdirSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';
import { prepareFolder } from '../../config/prepare-folder.js';
import { wordsForWriteError } from '../../schema/read-text.js';
import type { JsonObject } from '../../model/json.js';
import { CliError } from '../errors.js';
import { isReference } from './field-text.js';

/**
 * The secrets of one account: a folder `secrets/<account>` of the data folder, with a file for each field.
 */
export interface SecretFolder {
  readonly dataFolder: string;
  readonly account: string;
}

/** The reference in heddle.yaml to a secret that is stored here. */
export function secretReference(place: SecretFolder, key: string): { readonly secret: string } {
  return { secret: `file:${join(folderOf(place), key)}` };
}

/** Readers of the file remove one newline from its end, so one is added. */
export function stageSecret(place: SecretFolder, key: string, value: string): StagedFile {
  for (const folder of [place.dataFolder, dirname(folderOf(place)), folderOf(place)]) prepareFolder(folder);
  return stageFile(join(folderOf(place), key), `${value}\n`);
}

/** The files in the secrets folder that an account's fields refer to. */
export function storedFiles(place: SecretFolder, fields: JsonObject): readonly string[] {
  const inside = `file:${folderOf(place)}${sep}`;
  return Object.values(fields).flatMap((value) =>
    isReference(value) && value.secret.startsWith(inside) && !value.secret.includes('..')
      ? [value.secret.slice('file:'.length)]
      : [],
  );
}

/** Removes files, and the account's folder if it is empty. */
export function removeStored(place: SecretFolder, files: readonly string[]): void {
  for (const file of files) rmSync(file, { force: true });
  removeIfEmpty(folderOf(place));
}

function folderOf({ dataFolder, account }: SecretFolder): string {
  return join(dataFolder, 'secrets', account);
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // It does not exist, or is not empty.
  }
}

/** A complete file next to its destination, not yet moved there. */
export interface StagedFile {
  readonly path: string;
  /** Moves it into place, replacing an existing file. */
  commit(): void;
  /** Cleans up, also after a failed commit. */
  discard(): void;
}

/**
 * Keeps mode and owner of the file that it replaces; a new file is accessible only to its owner.
 * @throws CliError if it cannot be written.
 */
export function stageFile(path: string, text: string): StagedFile {
  const temporary = join(
    dirname(path),
    `.${basename(path)}-${process.pid}-${randomBytes(4).toString('hex')}`,
  );
  const before = statSync(path, { throwIfNoEntry: false });
  const discard = (): void => rmSync(temporary, { force: true });
  try {
    writeFileSync(temporary, text, { mode: 0o600, flag: 'wx', flush: true });
    if (before !== undefined) keepRights(temporary, before);
  } catch (cause) {
    discard();
    throw new CliError('Refused', `${path} cannot be written: ${wordsForWriteError(cause)}`, { cause });
  }
  return {
    path,
    discard,
    commit() {
      renameSync(temporary, path);
      syncFolder(dirname(path));
    },
  };
}

function keepRights(temporary: string, { mode, uid, gid }: Stats): void {
  const own = statSync(temporary);
  if (own.uid !== uid || own.gid !== gid) chownSync(temporary, uid, gid);
  chmodSync(temporary, mode & 0o777);
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
