// @ts-check
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { isMain, root, runMain, say } from './environment.mjs';
import { runProgram } from './run-program.mjs';

/** @typedef {{ dev?: boolean, devDependencies?: object }} LockedPackage */

/**
 * Packs the package with an npm-shrinkwrap.json, which npm obeys if it installs the package from a registry. It is
 * made in a copy: npm prefers one in this folder to package-lock.json, and .npmrc turns off the scripts of `npm pack`.
 * @param {string} folder of the tarball
 * @returns {Promise<string>} its path
 */
export async function pack(folder) {
  const copy = await mkdtemp(join(tmpdir(), 'heddle-pack-'));
  try {
    const [{ files }] = await npmPack(root, '--dry-run');
    for (const { path } of files) {
      await mkdir(dirname(join(copy, path)), { recursive: true });
      await cp(join(root, path), join(copy, path));
    }
    const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8'));
    await writeFile(join(copy, 'npm-shrinkwrap.json'), `${JSON.stringify(toShrinkwrap(lock), null, 2)}\n`);
    const [{ filename }] = await npmPack(copy, '--pack-destination', resolve(folder));
    return join(resolve(folder), filename);
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

/**
 * A lockfile without what only developers need: from a registry, npm installs all that a shrinkwrap contains.
 * @template {{ packages: Record<string, LockedPackage> }} Lock
 * @param {Lock} lock
 * @returns {Lock}
 */
export function toShrinkwrap(lock) {
  const { '': own = {}, ...others } = lock.packages;
  const { devDependencies: _, ...root } = own;
  const needed = Object.entries(others).filter(([, { dev }]) => dev !== true);
  return { ...lock, packages: { '': root, ...Object.fromEntries(needed) } };
}

/**
 * @param {string} cwd
 * @param {readonly string[]} options
 * @returns {Promise<[{ filename: string, files: readonly { path: string }[] }]>}
 */
async function npmPack(cwd, ...options) {
  const words = ['pack', '--json', '--ignore-scripts', ...options];
  return JSON.parse(await runProgram('npm', words, { cwd, limitMs: 300_000 }));
}

if (isMain(import.meta.url))
  await runMain(async () => {
    const { build } = await import('./build.mjs');
    await build();
    say(await pack(process.argv[2] ?? '.'));
  });
