// @ts-check
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { isMain, root, runMain, say } from './environment.mjs';
import { hashFiles } from './hash.mjs';
import { runProgram } from './run-program.mjs';

const site = join(root, 'site');

/**
 * Builds the site of docs/ into `out`, or serves it for writers. With a base such as /v0.2/ the site is that
 * of one release, in a folder of its own: `out` is then what a server publishes, with the releases built into
 * it before, and versions.json lists them.
 * @param {{ base?: string, out?: string, dev?: boolean }} [options]
 */
export async function buildDocs({ base = '/', out = join(site, 'dist'), dev = false } = {}) {
  if (!/^\/(?:[\w.-]+\/)*$/.test(base))
    throw new Error(`a base begins and ends with a slash, unlike "${base}"`);
  await installSite();
  const folder = join(out, ...base.split('/'));
  const words = dev ? ['vitepress', 'dev'] : ['vitepress', 'build'];
  await run('npx', words, { HEDDLE_DOCS_BASE: base, HEDDLE_DOCS_OUT: folder });
  if (dev) return;
  const release = base.split('/').at(-2) ?? '';
  if (release !== '') addRelease(join(folder, '..'), release, base);
  say(`the site is in ${folder}`);
}

/** Installs the packages of the site if they are not those of its lockfile. */
export async function installSite() {
  const installed = join(site, 'node_modules', '.heddle-installed');
  const hash = await hashFiles([join(site, 'package.json'), join(site, 'package-lock.json')]);
  if (existsSync(installed) && readFileSync(installed, 'utf8') === hash) return;
  say('installing the packages of the site');
  await runProgram('npm', ['ci', '--loglevel=error'], { cwd: site, limitMs: 600_000 });
  writeFileSync(installed, hash);
}

/** @param {string} folder @param {string} release @param {string} base */
function addRelease(folder, release, base) {
  const file = join(folder, 'versions.json');
  /** @type {{ version: string, base: string }[]} */
  const others = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : [];
  const all = [{ version: release, base }, ...others.filter((one) => one.base !== base)];
  all.sort((a, b) => b.version.localeCompare(a.version, 'en', { numeric: true }));
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, `${JSON.stringify(all, null, 2)}\n`);
  const newest = all[0]?.base ?? base;
  writeFileSync(
    join(folder, 'index.html'),
    `<!doctype html><meta charset="utf-8"><title>Heddle</title><meta http-equiv="refresh" content="0; url=${newest}">\n`,
  );
}

/** @param {string} program @param {readonly string[]} words @param {Record<string, string>} [env] */
async function run(program, words, env = {}) {
  const child = spawn(program, words, { cwd: site, env: { ...process.env, ...env }, stdio: 'inherit' });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${[program, ...words].join(' ')} ended with ${code}`);
}

if (isMain(import.meta.url)) {
  const { values } = parseArgs({
    options: { base: { type: 'string' }, out: { type: 'string' }, dev: { type: 'boolean' } },
  });
  await runMain(() => buildDocs(values));
}
