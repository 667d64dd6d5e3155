import { access, constants, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import { downloadBinary } from './download.js';
import { floorProblem, pinnedCli, readBinaryVersion, serverFloor } from './version.js';

export interface BinarySearch {
  /** The value of TEMPORAL_CLI: a path that someone chose on purpose. */
  readonly temporalCli: string | undefined;
  /** The value of PATH. */
  readonly path: string | undefined;
  /** Heddle's cache folder; binaries lie under `temporal/<version>/`. */
  readonly cacheFolder: string;
  /** Whether the SDK's download may be tried as the last place. */
  readonly download: boolean;
  /** Takes one line whenever something takes time or was passed over. */
  readonly say: (line: string) => void;
}

export interface TemporalBinary {
  readonly path: string;
  readonly cliVersion: string;
  readonly serverVersion: string;
  readonly source: 'TEMPORAL_CLI' | 'PATH' | 'cache' | 'download';
}

export interface PlaceLookedAt {
  readonly place: string;
  readonly problem: string;
}

/** No usable Temporal CLI. The message names each place looked at and what to do. */
export class BinaryNotFoundError extends Error {
  override readonly name = 'BinaryNotFoundError';
  readonly looked: readonly PlaceLookedAt[];

  constructor(looked: readonly PlaceLookedAt[], cause?: unknown) {
    super(describe(looked), { cause });
    this.looked = looked;
  }
}

/** Where a binary of the pinned release lies in the cache folder. */
export function cachedBinaryPath(cacheFolder: string): string {
  return join(cacheFolder, 'temporal', pinnedCli.cli, process.platform === 'win32' ? 'temporal.exe' : 'temporal');
}

/**
 * Finds a Temporal CLI to start a server with: TEMPORAL_CLI, PATH, our cache, the SDK's download, in that order.
 * An unusable TEMPORAL_CLI ends the search at once, for someone meant that one; elsewhere the search goes on.
 * Throws BinaryNotFoundError.
 */
export async function findBinary(search: BinarySearch): Promise<TemporalBinary> {
  if (search.temporalCli) {
    const named = await examine(search.temporalCli, 'TEMPORAL_CLI');
    if ('problem' in named) throw new BinaryNotFoundError([{ place: `TEMPORAL_CLI=${search.temporalCli}`, problem: named.problem }]);
    return named;
  }
  const looked: PlaceLookedAt[] = [{ place: 'TEMPORAL_CLI', problem: 'it is not set' }];

  const onPath = await findOnPath('temporal', search.path);
  if (onPath === undefined) looked.push({ place: 'PATH', problem: 'none of its folders holds a program named temporal' });
  for (const [place, source, file] of [
    [`PATH (${onPath})`, 'PATH', onPath],
    [`the cache (${cachedBinaryPath(search.cacheFolder)})`, 'cache', cachedBinaryPath(search.cacheFolder)],
  ] as const) {
    if (file === undefined) continue;
    const found = await examine(file, source);
    if (!('problem' in found)) return found;
    looked.push({ place, problem: found.problem });
    if (source === 'PATH') search.say(`${file} is passed over: ${found.problem}`);
  }
  if (!search.download) throw new BinaryNotFoundError(looked);

  try {
    search.say(`Temporal CLI ${pinnedCli.cli} (about 50 MB) is downloaded, once: no Temporal of server ${serverFloor} or newer is on this machine`);
    const target = cachedBinaryPath(search.cacheFolder);
    await downloadBinary({ target, version: pinnedCli.cli });
    const found = await examine(target, 'download');
    if (!('problem' in found)) return found;
    looked.push({ place: 'the download', problem: found.problem });
    throw new BinaryNotFoundError(looked);
  } catch (cause) {
    if (cause instanceof BinaryNotFoundError) throw cause;
    looked.push({ place: "the SDK's download", problem: cause instanceof Error ? cause.message : String(cause) });
    throw new BinaryNotFoundError(looked, cause);
  }
}

/** The first executable file of that name in the folders of a PATH value. */
export async function findOnPath(program: string, path: string | undefined): Promise<string | undefined> {
  const names = process.platform === 'win32' ? [`${program}.exe`] : [program];
  for (const folder of (path ?? '').split(delimiter)) {
    // A relative folder in PATH would run whatever the current folder holds.
    if (!isAbsolute(folder)) continue;
    for (const name of names) {
      if ((await whyNotExecutable(join(folder, name))) === undefined) return join(folder, name);
    }
  }
  return undefined;
}

async function examine(path: string, source: TemporalBinary['source']): Promise<TemporalBinary | { readonly problem: string }> {
  const problem = await whyNotExecutable(path);
  if (problem !== undefined) return { problem };
  try {
    const version = await readBinaryVersion(path);
    const old = floorProblem(version.server);
    return old === undefined ? { path, cliVersion: version.cli, serverVersion: version.server, source } : { problem: old };
  } catch (cause) {
    return { problem: cause instanceof Error ? cause.message : String(cause) };
  }
}

async function whyNotExecutable(path: string): Promise<string | undefined> {
  const info = await stat(path).catch(() => undefined);
  if (info === undefined) return 'there is no such file';
  if (!info.isFile()) return 'it is no file';
  return access(path, constants.X_OK).then(() => undefined, () => 'it may not be executed');
}

function describe(looked: readonly PlaceLookedAt[]): string {
  const places = looked.map(({ place, problem }) => `  - ${place}: ${problem}`);
  return [
    'No Temporal server to start. Looked at:',
    ...places,
    `What to do: install the Temporal CLI ${pinnedCli.cli} or newer (https://docs.temporal.io/cli) so that it is on PATH, or set TEMPORAL_CLI to it,`,
    'or name a running server in TEMPORAL_ADDRESS. From a clone of Heddle, `node tools/get-temporal.mjs` fetches one.',
  ].join('\n');
}
