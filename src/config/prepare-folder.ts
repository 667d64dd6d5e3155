import { mkdirSync, statSync } from 'node:fs';
import { errorAt, ProblemsError } from '../schema/problem.js';
import { whyNotPrivate } from '../schema/trusted-path.js';

/** Creates a private folder, or checks an existing one. @throws ProblemsError if others have access to it. */
export function prepareFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const distrust = whyNotPrivate(folder, statSync(folder));
  if (distrust === undefined) return;
  throw new ProblemsError('A folder of Heddle cannot be used:', [
    errorAt([], `${folder} ${distrust.wrong}`, distrust.right),
  ]);
}
