import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Config } from '../config/index.js';
import { childEnvironment } from '../config/child-environment.js';
import { otherOwnerOf } from '../config/own-files.js';
import { isPresent } from '../schema/read-text.js';
import {
  checkServer,
  ServerUnreachableError,
  type ServerAnswer,
  type ServerLocation,
} from '../server/check.js';
import { quoteWord } from '../ssh/quote.js';
import { locationOf, type ServerChoice } from './configuration.js';
import { CliError } from './errors.js';
import { findDev, type DevRecord } from './system/dev-record.js';

/**
 * Checks that the chosen server answers.
 * @throws ServerUnreachableError; CliError NoServer that names what the user may have meant, if
 * no server was named.
 */
export async function reachServer(
  config: Config,
  choice: ServerChoice,
  cwd = process.cwd(),
): Promise<ServerAnswer & { readonly location: ServerLocation }> {
  const location = locationOf(config, choice);
  try {
    return { location, ...(await checkServer(location)) };
  } catch (error) {
    if (!(error instanceof ServerUnreachableError) || choice.from !== 'default') throw error;
    const devs = await runningDevs();
    const hints = [...parentHint(config, cwd), ...devs.map(devHint)];
    if (hints.length === 0) throw error;
    throw new CliError('NoServer', [error.message, ...hints].join('\n'), {
      next: devs[0] === undefined ? error.next : setFolder(devs[0]),
      cause: error,
    });
  }
}

/** A heddle.yaml that the user may expect to be used. */
function parentHint({ file }: Config, cwd: string): readonly string[] {
  // One that was named, or is in the working folder, was read.
  if (file !== undefined) return [];
  for (let folder = dirname(cwd); ; folder = dirname(folder)) {
    const found = join(folder, 'heddle.yaml');
    if (isPresent(found))
      return [
        `${found} is not read, because it is not in the working folder; run the command in ${folder}, or pass --config ${quoteWord(found)}.`,
      ];
    if (folder === dirname(folder)) return [];
  }
}

interface OtherDev extends Pick<DevRecord, 'address'> {
  readonly dataFolder: string;
}

function devHint({ address, dataFolder }: OtherDev): string {
  return `heddle dev runs at ${address} with another data folder, ${dataFolder}.`;
}

function setFolder({ dataFolder }: OtherDev): string {
  return `export HEDDLE_DATA_FOLDER=${quoteWord(dataFolder)}`;
}

/** Hints beyond these would hide the error. */
const mostDevs = 3;

/** Each runs a Temporal server, whose command line names the data folder. */
async function runningDevs(): Promise<readonly OtherDev[]> {
  // Only processes of this user: others may write what they like into their command lines.
  const user = String(process.getuid?.() ?? '');
  const { stdout } = await promisify(execFile)('ps', ['-ww', '-U', user, '-o', 'args='], {
    env: childEnvironment(),
    timeout: 2_000,
    maxBuffer: 2 ** 24,
  }).catch(() => ({ stdout: '' }));
  const folders = new Set(stdout.split('\n').flatMap((line) => dataFolderOf(line) ?? []));
  const found = await Promise.all(
    [...folders].map(async (dataFolder) => {
      if (otherOwnerOf(dataFolder) !== undefined) return [];
      const dev = await findDev(dataFolder).catch(() => undefined);
      return dev === undefined ? [] : [{ address: dev.address, dataFolder }];
    }),
  );
  return found.flat().slice(0, mostDevs);
}

function dataFolderOf(commandLine: string): string | undefined {
  return / start-dev .*--db-filename (\/[^']+?)\/server\/temporal\.db --/.exec(commandLine)?.[1];
}
