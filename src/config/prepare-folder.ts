import { mkdirSync, statSync } from 'node:fs';
import { errorAt, ProblemsError } from '../schema/problem.js';
import { whyNotPrivate } from '../schema/trusted-path.js';

/**
 * Makes a folder that only we can read, or checks that it is one.
 * @throws ProblemsError when it belongs to somebody else or others may look into it.
 */
export function prepareFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const distrust = whyNotPrivate(folder, statSync(folder));
  if (distrust === undefined) return;
  throw new ProblemsError('A folder of Heddle cannot be used:', [
    errorAt([], `${folder} ${distrust.wrong}`, distrust.right),
  ]);
}
