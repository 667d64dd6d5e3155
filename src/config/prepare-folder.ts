import { accessSync, constants, statSync, type Stats } from 'node:fs';
import { makeFolder } from '../schema/make-folder.js';
import { errorAt, ProblemsError, type Problem } from '../schema/problem.js';
import { isDiskFault, wordsForFileError, wordsForWriteError } from '../schema/read-text.js';
import { whyNotPrivate, whyOpen, type Distrust } from '../schema/trusted-path.js';

/** Creates a private folder, or checks an existing one. @throws ProblemsError if it cannot be used. */
export function prepareFolder(folder: string): void {
  createFolder(folder);
  checkFolder(folder);
}

/**
 * For a process that reads secrets from a folder, which may belong to another user. @throws
 * ProblemsError if others may read it.
 */
export function refuseOpenFolder(folder: string): void {
  const stat = statIfPresent(folder);
  refuseDistrusted(stat === undefined ? undefined : whyOpen(folder, stat));
}

function refuseDistrusted(distrust: Distrust | undefined): void {
  if (distrust === undefined) return;
  const { path, wrong, right } = distrust;
  throw cannotBeUsed(errorAt([], `${path} ${wrong}`, right));
}

function cannotBeUsed(problem: Problem, cause?: unknown): ProblemsError {
  return new ProblemsError('A folder of Heddle cannot be used:', [problem], { cause });
}

function statIfPresent(folder: string): Stats | undefined {
  try {
    return statSync(folder, { throwIfNoEntry: false });
  } catch {
    return undefined; // Reading a file in it reports the error.
  }
}

function createFolder(folder: string): void {
  const fault = folderFault(folder);
  if (fault !== undefined) throw cannotBeUsed(errorAt([], fault, otherFolder));
  try {
    makeFolder(folder);
  } catch (error) {
    const wrong = `${folder} cannot be created: ${wordsForWriteError(error)}`;
    throw cannotBeUsed(errorAt([], wrong, otherFolder), error);
  }
}

function checkFolder(folder: string): void {
  refuseDistrusted(whyNotPrivate(folder, statSync(folder)));
  try {
    requireAccess(folder);
  } catch (error) {
    const problem = isDiskFault(error)
      ? errorAt([], `${folder} cannot be written: ${wordsForWriteError(error)}`, otherFolder)
      : errorAt([], `${folder} is not writable for this user`, `chmod 700 '${folder}'`);
    throw cannotBeUsed(problem, error);
  }
}

function requireAccess(folder: string): void {
  accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
}

export function isWritable(folder: string): boolean {
  try {
    requireAccess(folder);
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
    return `${folder} cannot be used: ${wordsForFileError(error)}`;
  }
}
