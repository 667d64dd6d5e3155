import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { access, constants, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { whyUntrusted } from '../schema/trusted-path.js';
import { pinnedCli, pinnedDigest } from './pinned-cli.js';
import { floorProblem, readBinaryVersion } from './version.js';

export interface BinarySearch {
  /** The value of TEMPORAL_CLI: an explicitly chosen path. */
  readonly temporalCli: string | undefined;
  /** The value of PATH. */
  readonly path: string | undefined;
  /** Heddle's cache folder; binaries lie under `temporal/<version>/`. */
  readonly cacheFolder: string;
  /** The SHA-256 digest that a program in the cache must have; default: that of the pinned release. */
  readonly cachedDigest?: string;
  /** Receives one line for each binary that was skipped. */
  readonly say: (line: string) => void;
}

export interface TemporalBinary {
  readonly path: string;
  readonly cliVersion: string;
  readonly serverVersion: string;
  readonly source: 'TEMPORAL_CLI' | 'PATH' | 'cache';
}

export interface PlaceLookedAt {
  readonly place: string;
  readonly problem: string;
}

/** No usable Temporal CLI was found. The message names each examined place and the remedy. */
export class BinaryNotFoundError extends Error {
  override readonly name = 'BinaryNotFoundError';
  readonly looked: readonly PlaceLookedAt[];

  constructor(looked: readonly PlaceLookedAt[]) {
    super(describe(looked));
    this.looked = looked;
  }
}

/** Where a binary of the pinned release lies in the cache folder. */
export function cachedBinaryPath(cacheFolder: string): string {
  return join(
    cacheFolder,
    'temporal',
    pinnedCli.cli,
    process.platform === 'win32' ? 'temporal.exe' : 'temporal',
  );
}

/**
 * Finds a Temporal CLI in TEMPORAL_CLI, PATH, or our cache, in that order. A cached program must have the
 * pinned digest and be writable by its owner alone. An unusable TEMPORAL_CLI ends the search. @throws
 * BinaryNotFoundError
 */
export async function findBinary(search: BinarySearch): Promise<TemporalBinary> {
  if (search.temporalCli) {
    const named = await examine(search.temporalCli, 'TEMPORAL_CLI');
    if ('problem' in named)
      throw new BinaryNotFoundError([
        { place: `TEMPORAL_CLI=${search.temporalCli}`, problem: named.problem },
      ]);
    return named;
  }
  const looked: PlaceLookedAt[] = [{ place: 'TEMPORAL_CLI', problem: 'it is not set' }];

  const onPath = await findOnPath('temporal', search.path);
  const found =
    onPath === undefined
      ? { problem: 'none of its folders holds a program named temporal' }
      : await examine(onPath, 'PATH');
  if (!('problem' in found)) return found;
  looked.push({ place: onPath === undefined ? 'PATH' : `PATH (${onPath})`, problem: found.problem });
  if (onPath !== undefined) search.say(`${onPath} is skipped: ${found.problem}`);

  const file = cachedBinaryPath(search.cacheFolder);
  const unpinned = await whyNotPinned(file, search.cachedDigest ?? pinnedDigest());
  const cached = unpinned === undefined ? await examine(file, 'cache') : { problem: unpinned };
  if (!('problem' in cached)) return cached;
  looked.push({ place: `the cache (${file})`, problem: cached.problem });
  throw new BinaryNotFoundError(looked);
}

/** Why a program does not have this digest; undefined if it has. Does not run it. */
export async function whyNotPinned(file: string, digest: string | undefined): Promise<string | undefined> {
  if ((await stat(file).catch(() => undefined))?.isFile() !== true) return 'the file does not exist';
  const distrust = whyUntrusted(file);
  if (distrust !== undefined) return `${distrust.path} ${distrust.wrong}. ${distrust.right}`;
  if (digest === undefined)
    return `Heddle has no digest of Temporal CLI ${pinnedCli.cli} for ${process.platform}-${process.arch}, so it runs no cached program`;
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  const found = hash.digest('hex');
  return found === digest
    ? undefined
    : `its SHA-256 digest is ${found}, not ${digest}. Remove it; to use another build on purpose, set TEMPORAL_CLI to it`;
}

/** The first executable file of that name in the folders of a PATH value. */
export async function findOnPath(program: string, path: string | undefined): Promise<string | undefined> {
  const names = process.platform === 'win32' ? [`${program}.exe`] : [program];
  for (const folder of (path ?? '').split(delimiter)) {
    // A relative folder in PATH would run files of the current folder.
    if (!isAbsolute(folder)) continue;
    for (const name of names) {
      if ((await whyNotExecutable(join(folder, name))) === undefined) return join(folder, name);
    }
  }
  return undefined;
}

async function examine(
  path: string,
  source: TemporalBinary['source'],
): Promise<TemporalBinary | { readonly problem: string }> {
  const problem = await whyNotExecutable(path);
  if (problem !== undefined) return { problem };
  try {
    const version = await readBinaryVersion(path);
    const old = floorProblem(version.server);
    return old === undefined
      ? { path, cliVersion: version.cli, serverVersion: version.server, source }
      : { problem: old };
  } catch (cause) {
    return { problem: cause instanceof Error ? cause.message : String(cause) };
  }
}

async function whyNotExecutable(path: string): Promise<string | undefined> {
  const info = await stat(path).catch(() => undefined);
  if (info === undefined) return 'the file does not exist';
  if (!info.isFile()) return 'it is not a file';
  return access(path, constants.X_OK).then(
    () => undefined,
    () => 'it is not executable',
  );
}

function describe(looked: readonly PlaceLookedAt[]): string {
  const places = looked.map(({ place, problem }) => `  - ${place}: ${problem}`);
  return [
    'No Temporal CLI was found to start a server. Checked:',
    ...places,
    `What to do: install the Temporal CLI ${pinnedCli.cli} or newer (https://docs.temporal.io/cli), compare it with the checksums of its release,`,
    'and put it on PATH or set TEMPORAL_CLI to it; or name a running server in TEMPORAL_ADDRESS. From a clone of Heddle,',
    '`node tools/get-temporal.mjs` fetches one whose digest is pinned.',
  ].join('\n');
}
