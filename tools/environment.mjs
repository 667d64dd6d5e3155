// @ts-check
import { realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of this checkout. */
export const root = fileURLToPath(new URL('..', import.meta.url)).replace(/[\\/]$/, '');

/** Heddle's cache folder; a relative XDG_CACHE_HOME is void by its specification. */
export function cacheFolder(env = process.env) {
  const base =
    env.XDG_CACHE_HOME && isAbsolute(env.XDG_CACHE_HOME) ? env.XDG_CACHE_HOME : join(homedir(), '.cache');
  return join(base, 'heddle');
}

/** @param {string} line what takes time, and why */
export function say(line) {
  process.stderr.write(`heddle: ${line}\n`);
}

/** The words of whatever was thrown. @param {unknown} error */
export function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Runs the main function of a tool: what it throws becomes words and exit code 1.
 * @param {() => Promise<unknown>} main
 */
export async function runMain(main) {
  try {
    await main();
  } catch (error) {
    say(messageOf(error));
    process.exitCode = 1;
  }
}

/** Whether this module was started by node itself. @param {string} moduleUrl */
export function isMain(moduleUrl) {
  return process.argv[1] !== undefined && fileURLToPath(moduleUrl) === realpathSync(process.argv[1]);
}
