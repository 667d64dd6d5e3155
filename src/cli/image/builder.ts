import { workerEnvironment } from '../../config/child-environment.js';
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import writeFileAtomic from 'write-file-atomic';
import type { Config } from '../../config/index.js';
import { prepareFolder } from '../../config/prepare-folder.js';
import { buildQueue } from '../../model/names.js';
import { readLogTail } from '../../server/launch.js';
import { isRunning, markOf, type ProcessMark } from '../../detached/process-mark.js';
import { endProcess } from '../../server/process.js';
import { readConfiguration, type CommonOptions, type ServerOptions } from '../configuration.js';
import { CliError } from '../errors.js';
import { localVerb } from '../verb.js';
import { waitForPoller } from '../system/pollers.js';
import { prepareWorker, runWorker } from '../system/worker.js';

const startLimitMs = 60_000;
/** Time to finish the tasks in hand, in ms; then it is killed. */
const stopPatienceMs = 60_000;

/** Starts the builder of this data folder; returns when it polls for work. */
export async function start(options: ServerOptions & { readonly foreground?: boolean }): Promise<number> {
  return options.foreground === true ? runWorker(options, ['--builder']) : startInBackground(options);
}

const startInBackground = localVerb(startDetached, {
  print: (output, { builder: { site, pid, log } }) => {
    output.line(`the builder of site ${site} runs as process ${pid}; its log is ${log}`);
    output.line('next: heddle builder stop');
  },
});

async function startDetached(options: ServerOptions) {
  const { config, location, namespace, args, variables } = await prepareWorker(options, ['--builder']);
  prepareFolder(config.dataFolder);
  const known = await readRecord(config);
  if (known !== undefined && (await isRunning(known)))
    throw new CliError(
      'Refused',
      `the builder of ${config.dataFolder} is already running as process ${known.pid}`,
      { next: 'heddle builder stop' },
    );
  const logFile = join(config.dataFolder, 'builder.log');
  const log = openSync(logFile, 'a', 0o600);
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', log, log],
    detached: true,
    env: workerEnvironment(config.environment, variables),
  });
  closeSync(log);
  child.on('error', () => undefined).unref();
  const failure = async (what: string, next?: string): Promise<CliError> => {
    const tail = await readLogTail(logFile, 3);
    return new CliError('Failed', `the builder did not ${what}. The end of its log (${logFile}):\n${tail}`, {
      next,
    });
  };
  const record = child.pid === undefined ? undefined : await markOf(child.pid);
  if (record === undefined) throw await failure('start');
  await writeFileAtomic(recordFile(config), JSON.stringify(record), { mode: 0o600 });
  const polls = await waitForPoller({
    location,
    namespace,
    queue: buildQueue(config.site),
    tasks: 'activities',
    pid: record.pid,
    limitMs: startLimitMs,
    isRunning: () => isRunning(record),
  });
  if (!polls) throw await failure('poll for work', 'heddle builder stop');
  return { builder: { pid: record.pid, site: config.site, log: logFile } };
}

/** Stops the builder of this data folder, and waits for its end. */
export const stop = localVerb(
  async (options: CommonOptions) => {
    const config = readConfiguration(options);
    const known = await readRecord(config);
    if (known === undefined || !(await isRunning(known)))
      return { builder: null, said: `no builder of ${config.dataFolder} runs on this machine` };
    await endProcess(known, stopPatienceMs);
    await rm(recordFile(config), { force: true });
    return {
      builder: { pid: known.pid },
      said: `the builder (process ${known.pid}) has ended; the next one continues its work`,
    };
  },
  { document: ({ builder }) => ({ builder }), print: (output, { said }) => output.line(said) },
);

function recordFile({ dataFolder }: Config): string {
  return join(dataFolder, 'builder.json');
}

async function readRecord(config: Config): Promise<ProcessMark | undefined> {
  const text = await readFile(recordFile(config), 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    const record = JSON.parse(text) as ProcessMark;
    if (Number.isInteger(record.pid) && typeof record.started === 'string') return record;
  } catch {
    // Reported below.
  }
  throw new CliError(
    'Failed',
    `${recordFile(config)} is not the record of a builder; remove it if no builder is running`,
  );
}
