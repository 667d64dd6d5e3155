import { realpathSync, statSync } from 'node:fs';
import { relative, sep } from 'node:path';
import { errorAt, type Problem } from '../schema/problem.js';

export type FileReading =
  | { readonly ok: true; readonly path: string }
  | { readonly ok: false; readonly wrong: string };

/** A file of a plugin: in its folder, links followed, and not everybody's to write. `name` is what messages call it. */
export function checkFile(file: string, folder: string, name: string): FileReading {
  const path = realpathSync(file);
  const inside = relative(realpathSync(folder), path);
  if (inside.startsWith(`..${sep}`)) return { ok: false, wrong: `${name} lies outside the plugin's folder` };
  const [unsafe] = checkMode(path);
  return unsafe === undefined ? { ok: true, path } : { ok: false, wrong: unsafe.wrong };
}

/** What everybody may write is code that everybody may put into a worker. */
export function checkMode(path: string): readonly Problem[] {
  if (process.platform === 'win32' || (statSync(path).mode & 0o002) === 0) return [];
  return [faultIn(path, 'may be written by everybody', `chmod o-w '${path}'`)];
}

export function faultIn(path: string, wrong: string, right?: string): Problem {
  return errorAt([], `${path} ${wrong}`, right);
}
