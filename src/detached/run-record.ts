import { link, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { hasErrorCode } from '../model/system-error.js';
import { PluginError } from '../plugins/errors.js';
import { endGroup, isRunning, type ProcessMark } from './process-mark.js';

/** A run that was started, as its folder records it. */
export interface StartedRun {
  readonly number: number;
  /** Digest of the work and its token. */
  readonly key: string;
  readonly what: string;
  readonly host: string;
  readonly directory: string;
  readonly mark: ProcessMark;
  readonly startedAt: number;
}

/** The newest run of a folder; undefined if there is none, or a person has removed its directory. */
export async function readNewestRun(folder: string): Promise<StartedRun | undefined> {
  const number = await newestNumber(folder);
  if (number === 0) return undefined;
  const started = JSON.parse(await readFile(recordOf(folder, number), 'utf8')) as StartedRun;
  return (await readdir(folder)).some((name) => started.directory.endsWith(`/${name}`)) ? started : undefined;
}

/** The number that the next run of a folder claims. */
export async function nextNumber(folder: string): Promise<number> {
  return (await newestNumber(folder)) + 1;
}

/**
 * Records a run by creating its file exclusively: of two runs with the same number, one is recorded.
 * False: another one was.
 */
export async function recordRun(folder: string, started: StartedRun): Promise<boolean> {
  const draft = join(started.directory, 'run.json');
  await writeFile(draft, JSON.stringify(started), { mode: 0o600 });
  try {
    await link(draft, recordOf(folder, started.number));
  } catch (error) {
    if (hasErrorCode(error, 'EEXIST')) return false;
    throw error;
  }
  await removeEarlier(folder, started.number);
  return true;
}

/** The exit code; undefined while the run has not ended, or if it was killed. */
export async function readExit({ directory }: StartedRun): Promise<number | undefined> {
  try {
    return Number.parseInt(await readFile(join(directory, 'exit'), 'utf8'), 10);
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** Whether the run is one of this host and its program runs. */
export async function runsHere({ host, mark }: StartedRun): Promise<boolean> {
  return host === hostname() && (await isRunning(mark));
}

/**
 * Ends a run with all processes of its session; returns when none of them runs.
 * @throws PluginError Retryable if that cannot be seen from this host.
 */
export async function endRun(started: StartedRun): Promise<void> {
  const { host, mark, what, directory } = started;
  if (host === hostname()) return endGroup(mark);
  if ((await readExit(started)) !== undefined) return;
  throw new PluginError(
    'Retryable',
    `${what} was started on worker host ${host}, and this host cannot see whether it still runs there; if it certainly does not, remove ${directory}`,
    { retryAfterMs: 5_000 },
  );
}

async function newestNumber(folder: string): Promise<number> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (hasErrorCode(error, 'ENOENT')) return [];
    throw error;
  });
  return Math.max(0, ...names.flatMap((name) => Number(/^run-(\d+)\.json$/.exec(name)?.[1] ?? [])));
}

function recordOf(folder: string, number: number): string {
  return join(folder, `run-${number}.json`);
}

async function removeEarlier(folder: string, number: number): Promise<void> {
  for (const name of await readdir(folder)) {
    const own = Number(/^(?:run-)?(\d+)[.-]/.exec(name)?.[1] ?? Infinity);
    if (own < number) await rm(join(folder, name), { recursive: true, force: true });
  }
}
