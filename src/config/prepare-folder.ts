import { mkdirSync, statSync } from 'node:fs';
import { errorAt, ProblemsError } from '../schema/problem.js';

/**
 * Makes a folder that only we can read, or checks that it is one.
 * @throws ProblemsError when it belongs to somebody else or others may look into it.
 */
export function prepareFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const stat = statSync(folder);
  const refuse = (wrong: string, right: string): never => {
    throw new ProblemsError('A folder of Heddle cannot be used:', [errorAt([], `${folder} ${wrong}`, right)]);
  };
  if (process.getuid !== undefined && stat.uid !== process.getuid()) refuse(`belongs to user ${stat.uid}, not to user ${process.getuid()}`, 'Name another folder, or run as its owner.');
  if (process.platform !== 'win32' && (stat.mode & 0o077) !== 0) refuse(`is open to others (mode ${(stat.mode & 0o777).toString(8)})`, `chmod 700 '${folder}'`);
}
