import { accessSync, constants, statSync } from 'node:fs';
import { makeFolder } from '../schema/make-folder.js';
import { errorAt, ProblemsError, type Problem } from '../schema/problem.js';
import { wordsForWriteError } from '../schema/read-text.js';
import { whyNotPrivate } from '../schema/trusted-path.js';

/** Creates a private folder, or checks an existing one. @throws ProblemsError if it cannot be used. */
export function prepareFolder(folder: string): void {
  const problem = createFolder(folder) ?? openFolder(folder);
  if (problem !== undefined) throw new ProblemsError('A folder of Heddle cannot be used:', [problem]);
}

function createFolder(folder: string): Problem | undefined {
  const fault = folderFault(folder);
  if (fault !== undefined) return errorAt([], fault, otherFolder);
  try {
    makeFolder(folder);
    return undefined;
  } catch (error) {
    return errorAt([], `${folder} cannot be created: ${wordsForWriteError(error)}`, otherFolder);
  }
}

function openFolder(folder: string): Problem | undefined {
  const distrust = whyNotPrivate(folder, statSync(folder));
  if (distrust !== undefined) return errorAt([], `${folder} ${distrust.wrong}`, distrust.right);
  return isWritable(folder)
    ? undefined
    : errorAt([], `${folder} is not writable for this user`, `chmod 700 '${folder}'`);
}

export function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const otherFolder = 'Specify another folder, for example with HEDDLE_DATA_FOLDER.';

/** Why a path cannot be a folder; undefined if it is one, or can be created. */
export function folderFault(folder: string): string | undefined {
  try {
    const stat = statSync(folder, { throwIfNoEntry: false });
    return stat === undefined || stat.isDirectory() ? undefined : `${folder} is not a folder`;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOTDIR') return `the path ${folder} leads through a file`;
    // The folder may belong to the user that workers run as; its use reports the error.
    if (code === 'EACCES') return undefined;
    throw error;
  }
}
