// @ts-check
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheFolder, isMain, root, runMain, say } from './environment.mjs';
import { withLock } from './lock.mjs';
import { runProgram } from './run-program.mjs';

/**
 * Installs the packages of the lockfile and builds dist/, where that is not done yet. Imports nothing that
 * needs packages, for there may be none.
 */
export async function prepare() {
  await refuseOldNode();
  await install();
  const { build } = await import('./build.mjs');
  await build();
}

async function refuseOldNode() {
  const { engines } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  const oldest = engines.node.replace('>=', '');
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const [oldestMajor, oldestMinor] = oldest.split('.').map(Number);
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return;
  throw new Error(
    `Node ${process.versions.node} is too old: Heddle needs ${oldest} or newer (https://nodejs.org)`,
  );
}

async function install() {
  if (await isInstalled()) return;
  // The lock cannot lie in node_modules, which npm ci empties.
  const name = createHash('sha256').update(root).digest('hex').slice(0, 16);
  await withLock(join(cacheFolder(), 'locks', `install-${name}`), {
    waiting: () => say('waiting for another install in this folder'),
    work: async () => {
      if (await isInstalled()) return;
      say(
        'installing packages by npm ci, for node_modules is missing or differs from the lockfile (390 MB on disk, one to three minutes)',
      );
      await runProgram('npm', ['ci', '--include=dev', '--no-audit', '--no-fund'], {
        cwd: root,
        limitMs: 1_800_000,
      });
    },
  });
}

/** @type {Awaited<ReturnType<typeof readPackages>>} */
const nothing = {};

/** npm notes in node_modules what it installed; packages for other platforms may be absent from it. */
async function isInstalled() {
  const wanted = await readPackages(join(root, 'package-lock.json'));
  const present = await readPackages(join(root, 'node_modules', '.package-lock.json')).catch(() => nothing);
  return Object.entries(wanted).every(([path, { version, integrity, optional, devOptional }]) => {
    const found = present[path];
    if (path === '') return true;
    return found === undefined
      ? optional === true || devOptional === true
      : found.version === version && found.integrity === integrity;
  });
}

/**
 * @param {string} lockfile
 * @returns {Promise<Record<string, { version?: string, integrity?: string, optional?: boolean, devOptional?:
 * boolean }>>}
 */
async function readPackages(lockfile) {
  return JSON.parse(await readFile(lockfile, 'utf8')).packages ?? {};
}

if (isMain(import.meta.url)) await runMain(prepare);
