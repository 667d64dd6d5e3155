import { rmdirSync, rmSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { prepareFolder } from '../../config/prepare-folder.js';
import type { JsonObject } from '../../model/json.js';
import { isReference } from './field-text.js';
import { stageFile, type StagedFile } from './staged-file.js';

/**
 * The secrets of one account: a folder `secrets/<account>` of the data folder, with a file for each field.
 */
export interface SecretFolder {
  readonly dataFolder: string;
  readonly account: string;
}

/** What heddle.yaml says in place of a secret that is kept here. */
export function secretReference(place: SecretFolder, key: string): { readonly secret: string } {
  return { secret: `file:${join(folderOf(place), key)}` };
}

/** Whoever reads the file takes one newline from its end, so that one is added. */
export function stageSecret(place: SecretFolder, key: string, value: string): StagedFile {
  for (const folder of [place.dataFolder, dirname(folderOf(place)), folderOf(place)]) prepareFolder(folder);
  return stageFile(join(folderOf(place), key), `${value}\n`);
}

/** The files of ours that an account's fields refer to. */
export function storedFiles(place: SecretFolder, fields: JsonObject): readonly string[] {
  const inside = `file:${folderOf(place)}${sep}`;
  return Object.values(fields).flatMap((value) =>
    isReference(value) && value.secret.startsWith(inside) && !value.secret.includes('..')
      ? [value.secret.slice('file:'.length)]
      : [],
  );
}

/** Removes files, and the account's folder when nothing is left in it. */
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
    // Not there, or something else is in it.
  }
}
