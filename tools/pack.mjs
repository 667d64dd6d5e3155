// @ts-check
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, normalize, posix, resolve } from 'node:path';
import { minify } from 'rolldown/utils';
import { isMain, root, runMain, say } from './environment.mjs';
import { runProgram } from './run-program.mjs';

/** @typedef {{ dev?: boolean, devDependencies?: object }} LockedPackage */

/**
 * Packs the package with an npm-shrinkwrap.json, which npm obeys if it installs the package from a registry.
 * It is made in a copy: npm prefers one in this folder to package-lock.json, and .npmrc turns off the scripts
 * of `npm pack`.
 * @param {string} folder of the tarball
 * @returns {Promise<string>} its path
 */
export async function pack(folder) {
  const copy = await mkdtemp(join(tmpdir(), 'heddle-pack-'));
  try {
    const [{ files }] = await npmPack(root, '--dry-run');
    const paths = files.map(({ path }) => path);
    const types = await reachableTypes(paths);
    const packed = paths.filter((each) => !each.endsWith('.d.ts') || types.has(each));
    for (const path of packed) {
      if (path.endsWith('.md')) await copyPage(path, join(copy, path), packed);
      else await copyFile(path, join(copy, path));
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
 * Declarations that programs can import: those of the package's exports, and what they refer to.
 * @param {readonly string[]} paths of all files
 */
async function reachableTypes(paths) {
  const { exports } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  const rest = Object.values(exports).flatMap(({ types = [] }) => types);
  /** @type {Set<string>} */
  const found = new Set();
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    const path = normalize(next);
    if (found.has(path) || !paths.includes(path)) continue;
    found.add(path);
    const text = await readFile(join(root, path), 'utf8');
    for (const [, name = ''] of text.matchAll(/['"](\.{1,2}\/[^'"]*)\.js['"]/g))
      rest.push(join(dirname(path), `${name}.d.ts`));
  }
  return found;
}

/**
 * Modules lose their comments, which their declarations and the sources have; lines stay lines, for stack
 * traces.
 * @param {string} path
 * @param {string} target
 */
async function copyFile(path, target) {
  await mkdir(dirname(target), { recursive: true });
  const isModule = path.startsWith('dist/') && path.endsWith('.js');
  if (!isModule || path.startsWith('dist/cli-bundle/') || path === 'dist/workflow-bundle.js')
    return cp(join(root, path), target);
  const { code, errors } = await minify(path, await readFile(join(root, path), 'utf8'), {
    compress: false,
    mangle: false,
    codegen: { removeWhitespace: false, legalComments: 'none' },
  });
  if (errors[0] !== undefined) throw new Error(`${path} is not a module: ${errors[0].message}`);
  await writeFile(target, code);
}

/**
 * Links to what the package does not have lead to the repository.
 * @param {string} path
 * @param {string} target
 * @param {readonly string[]} packed
 */
async function copyPage(path, target, packed) {
  const { repository, version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  const page = repository.url.replace(/^git\+(.*)\.git$/, '$1');
  const text = await readFile(join(root, path), 'utf8');
  await mkdir(dirname(target), { recursive: true });
  await writeFile(
    target,
    text.replaceAll(relativeLink, (link, image, before, to, after) => {
      const linked = posix.join(posix.dirname(path), to);
      if (packed.some((each) => each === linked || each.startsWith(`${linked.replace(/\/$/, '')}/`)))
        return link;
      return `${image}${before}${page}/${image === '!' ? 'raw' : 'blob'}/v${version}/${linked}${after}`;
    }),
  );
}

/** `[text](path#part)`, also of an image. */
const relativeLink = /(!?)(\[[^\]]*\]\()(?![a-z]+:|#|\/)([^)#\s]+)((?:#[^)\s]*)?\))/g;

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
