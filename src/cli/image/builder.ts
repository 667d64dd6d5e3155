import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { buildQueue } from '../../model/names.js';
import type { Config } from '../../config.js';
import { workerEnvironment } from '../../config/child-environment.js';
import { prepareFolder } from '../../config/prepare-folder.js';
import { checkServer } from '../../server/check.js';
import { readLogTail } from '../../server/launch.js';
import { endProcess, isRunning, recordProcess, type ProcessRecord } from '../../server/process.js';
import { CliError, exitCodes } from '../errors.js';
import {
  chooseServer,
  openKeys,
  readConfiguration,
  type CommonOptions,
  type ServerOptions,
} from '../configuration.js';
import { createOutput } from '../output.js';
import { runWorker, workerProgram } from '../system/worker.js';

const startLimitMs = 60_000;
/** What it has in hand is let go within this; then it is killed. */
const stopPatienceMs = 60_000;

/** Starts the builder of this data folder; returns when it asks for work. */
export async function start(options: ServerOptions & { readonly foreground?: boolean }): Promise<number> {
  if (options.foreground === true) return runWorker(options, ['--builder']);
  const config = readConfiguration(options);
  const { address, namespace, dev } = await chooseServer(config, options);
  const location = { ...(dev === undefined ? config.temporal.connection : {}), address };
  await checkServer(location);
  openKeys(config);
  prepareFolder(config.dataFolder);
  const known = await readRecord(config);
  if (known !== undefined && (await isRunning(known)))
    throw new CliError(
      'Refused',
      `the builder of ${config.dataFolder} runs already, as process ${known.pid}`,
      { next: 'heddle builder stop' },
    );
  const file = options.config ?? dev?.workerConfig ?? config.file;
  const logFile = join(config.dataFolder, 'builder.log');
  const log = openSync(logFile, 'a', 0o600);
  const child = spawn(
    process.execPath,
    [workerProgram, '--builder', ...(file === undefined ? [] : ['--config', file])],
    {
      stdio: ['ignore', log, log],
      detached: true,
      env: workerEnvironment(config.environment, {
        TEMPORAL_ADDRESS: address,
        TEMPORAL_NAMESPACE: namespace,
        ...(options.profile === undefined ? {} : { TEMPORAL_PROFILE: options.profile }),
      }),
    },
  );
  closeSync(log);
  child.on('error', () => undefined).unref();
  const record = child.pid === undefined ? undefined : await recordProcess(child.pid);
  if (record === undefined)
    throw new CliError(
      'Failed',
      `the builder did not start. The end of its log (${logFile}):\n${await readLogTail(logFile, 3)}`,
    );
  await writeRecord(config, record);
  await waitUntilPolling(record, { location, namespace, queue: buildQueue(config.site), logFile });
  const output = createOutput(options);
  output.line(`the builder of site ${config.site} runs as process ${record.pid}; its log is ${logFile}`);
  output.line('next: heddle builder stop');
  output.document({ builder: { pid: record.pid, site: config.site, log: logFile } });
  return exitCodes.ok;
}

/** Stops the builder of this data folder, and waits until it is gone. */
export async function stop(options: CommonOptions): Promise<number> {
  const config = readConfiguration(options);
  const output = createOutput(options);
  const known = await readRecord(config);
  if (known === undefined || !(await isRunning(known))) {
    output.line(`no builder of ${config.dataFolder} runs on this machine`);
    output.document({ builder: null });
    return exitCodes.ok;
  }
  await endProcess(known, stopPatienceMs);
  await rm(recordFile(config), { force: true });
  output.line(`the builder (process ${known.pid}) has ended; what it was at goes on with the next one`);
  output.document({ builder: { pid: known.pid } });
  return exitCodes.ok;
}

interface Polling {
  readonly location: { readonly address: string };
  readonly namespace: string;
  readonly queue: string;
  readonly logFile: string;
}

async function waitUntilPolling(
  record: ProcessRecord,
  { location, namespace, queue, logFile }: Polling,
): Promise<void> {
  const connection = Connection.lazy(location);
  try {
    for (
      const limit = Date.now() + startLimitMs;
      Date.now() < limit && (await isRunning(record));
      await pause(100)
    ) {
      const { pollers } = await connection.withDeadline(Date.now() + 5_000, () =>
        connection.workflowService.describeTaskQueue({
          namespace,
          taskQueue: { name: queue },
          taskQueueType: 2,
        }),
      );
      if (pollers?.some(({ identity }) => identity?.startsWith(`${record.pid}@`))) return;
    }
  } finally {
    await connection.close();
  }
  throw new CliError(
    'Failed',
    `the builder did not ask for work. The end of its log (${logFile}):\n${await readLogTail(logFile, 3)}`,
    { next: 'heddle builder stop' },
  );
}

function recordFile({ dataFolder }: Config): string {
  return join(dataFolder, 'builder.json');
}

async function readRecord(config: Config): Promise<ProcessRecord | undefined> {
  const text = await readFile(recordFile(config), 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    const record = JSON.parse(text) as ProcessRecord;
    if (Number.isInteger(record.pid) && typeof record.started === 'string') return record;
  } catch {
    // Said below.
  }
  throw new CliError(
    'Failed',
    `${recordFile(config)} is not the record of a builder; remove it when none runs`,
  );
}

async function writeRecord(config: Config, record: ProcessRecord): Promise<void> {
  const file = recordFile(config);
  await writeFile(`${file}.new`, JSON.stringify(record), { mode: 0o600 });
  await rename(`${file}.new`, file);
}
