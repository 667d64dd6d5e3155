import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { errorAt, type Problem } from '../schema/problem.js';
import { whyUntrusted } from '../schema/trusted-path.js';

export type FileReading =
  | { readonly ok: true; readonly path: string }
  | { readonly ok: false; readonly wrong: string };

/** A file of a plugin: in its folder, links followed. `name` is what messages call it. */
export function checkFile(file: string, folder: string, name: string): FileReading {
  const path = realpathSync(file);
  const inside = relative(realpathSync(folder), path);
  if (inside.startsWith(`..${sep}`)) return { ok: false, wrong: `${name} lies outside the plugin's folder` };
  return { ok: true, path };
}

/** Whoever may write a plugin's files decides what a worker runs. */
export function checkTrust(path: string): readonly Problem[] {
  const distrust = whyUntrusted(path);
  return distrust === undefined ? [] : [faultIn(distrust.path, distrust.wrong, distrust.right)];
}

/**
 * The first file or folder of a plugin that is not to be trusted. Of `node_modules` the folder alone: it may
 * hold very many.
 */
export function checkTreeTrust(folder: string): readonly Problem[] {
  const [problem] = checkTrust(folder);
  if (problem !== undefined) return [problem];
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    // A link that leads nowhere runs nothing.
    if (!existsSync(path)) continue;
    const problems =
      entry.isDirectory() && entry.name !== 'node_modules' ? checkTreeTrust(path) : checkTrust(path);
    if (problems.length > 0) return problems;
  }
  return [];
}

export function faultIn(path: string, wrong: string, right?: string): Problem {
  return errorAt([], `${path} ${wrong}`, right);
}
