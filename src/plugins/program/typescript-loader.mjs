// @ts-check
// The plugin host's module loader: TypeScript without a build step, and `heddle/plugin` for plugins in
// folders of their own. Imported at the start of the process, it registers its hooks, which run in a thread
// of their own. Plain JavaScript, because Node 20 reads nothing else before the hooks exist.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire, register } from 'node:module';
import { extname, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) register(import.meta.url);

const library = ['../index.js', '../index.ts']
  .map((path) => new URL(path, import.meta.url))
  .find((url) => existsSync(url));

/** @type {import('node:module').ResolveHook} */
export async function resolve(specifier, context, next) {
  if (specifier === 'heddle/plugin' && library !== undefined)
    return { url: library.href, shortCircuit: true };
  refuseOutside(specifier, context.parentURL);
  const source = sourceOf(specifier, context.parentURL);
  return source === undefined ? next(specifier, context) : { url: source, shortCircuit: true };
}

/** @type {import('node:module').LoadHook} */
export async function load(url, context, next) {
  if (!url.startsWith('file:') || !['.ts', '.mts', '.cts'].includes(extname(new URL(url).pathname)))
    return next(url, context);
  const format = url.endsWith('.cts') ? 'commonjs' : 'module';
  const source = await readFile(new URL(url), 'utf8');
  return { format, shortCircuit: true, source: await compile(source, fileURLToPath(url), format) };
}

/**
 * A plugin is its folder, in which its host runs: what lies outside has no part in its digest.
 * @param {string} specifier @param {string | undefined} parent
 */
function refuseOutside(specifier, parent) {
  if (parent?.startsWith('file:') !== true || !/^\.\.?\//.test(specifier)) return;
  const [own, path] = [fileURLToPath(parent), fileURLToPath(new URL(specifier, parent))];
  const folder = `${process.cwd()}${sep}`;
  if (!own.startsWith(folder) || own.includes(`${sep}node_modules${sep}`) || path.startsWith(folder)) return;
  throw new Error(`${own} imports ${specifier}, outside of the plugin's folder. Move it into the folder`);
}

/**
 * TypeScript names the file that a compiler would make: where `./x.js` is missing, `./x.ts` is meant.
 * @param {string} specifier @param {string | undefined} parent @returns {string | undefined}
 */
function sourceOf(specifier, parent) {
  if (parent?.startsWith('file:') !== true && !specifier.startsWith('file:')) return undefined;
  if (!/^(\.\.?\/|file:)/.test(specifier) || !/\.[mc]?js$/.test(specifier)) return undefined;
  const url = new URL(specifier, parent);
  if (existsSync(url)) return undefined;
  const source = new URL(url.href.replace(/js$/, 'ts'));
  return existsSync(source) ? source.href : undefined;
}

/**
 * By the compiler that Temporal's SDK bundles workflows with. Node's own would need Node 22.18.
 * @param {string} source
 * @param {string} filename
 * @param {'module' | 'commonjs'} format
 * @returns {Promise<string>}
 */
async function compile(source, filename, format) {
  const worker = createRequire(import.meta.url).resolve('@temporalio/worker');
  /** @type {typeof import('@swc/core')} */
  const swc = (await import(pathToFileURL(createRequire(worker).resolve('@swc/core')).href)).default;
  const { code } = await swc.transform(source, {
    filename,
    swcrc: false,
    configFile: false,
    sourceMaps: 'inline',
    module: { type: format === 'module' ? 'es6' : 'commonjs' },
    jsc: { target: 'es2022', parser: { syntax: 'typescript', decorators: true } },
  });
  return code;
}
