import { prepareFolder, type Config } from '../config.js';
import { findBinary } from '../server/find-binary.js';
import { recordProcess } from '../server/process.js';
import { CliError } from './cli-error.js';
import { readConfiguration, type CommonOptions } from './configuration.js';
import { findDev, removeDevRecord, writeDevRecord } from './dev-record.js';
import { startParts, type DevOptions, type DevParts } from './dev-parts.js';
import { exitCodes } from './exit-codes.js';
import { createOutput, type Output } from './output.js';
import { catchInterrupt } from './follow-operation.js';
import { formatClock } from './time-text.js';

/**
 * Starts everything on this machine and keeps it up until Ctrl-C. Clusters live in the data folder: started again, they
 * go on.
 */
export async function dev(options: CommonOptions & Omit<DevOptions, 'say'>): Promise<number> {
  const config = readConfiguration(options);
  prepareFolder(config.dataFolder);
  await refuseSecond(config);
  const output = createOutput(options);
  const say = (line: string): void => output.note(`${formatClock(new Date())} ${line}`);
  const interrupt = catchInterrupt();
  const { path: binary } = await findBinary({
    temporalCli: config.environment['TEMPORAL_CLI'], path: config.environment['PATH'], cacheFolder: config.cacheFolder, download: true, say,
  });
  const parts = await startParts(config, binary, { ...options, say });
  try {
    const owner = await recordProcess(process.pid);
    if (owner !== undefined) await writeDevRecord(config.dataFolder, { owner, ...parts.record });
    announce(output, config, parts);
    const ended = await Promise.race([parts.serverEnded, interrupt.happened.catch(() => undefined)]);
    if (ended === undefined) return exitCodes.ok;
    throw new CliError('Failed', `the Temporal server ended (${ended}), so everything ends. The end of its log:\n${await parts.serverLogTail()}`, { next: 'heddle dev' });
  } finally {
    // From here on Ctrl-C does not wait.
    interrupt.release();
    say('stopping; press Ctrl-C again to end at once');
    await removeDevRecord(config.dataFolder);
    await parts.stop();
    say('stopped; clusters go on when heddle dev is started again');
  }
}

async function refuseSecond({ dataFolder }: Config): Promise<void> {
  const running = await findDev(dataFolder);
  if (running === undefined) return;
  throw new CliError('Refused', `heddle dev runs already on ${dataFolder}: process ${running.owner.pid}, Temporal at ${running.address}, Web UI at ${running.ui}. `
    + 'Use that one, stop it, or set HEDDLE_DATA_FOLDER to another folder for a second one.', { next: 'heddle list' });
}

function announce(output: Output, config: Config, { record, machineKind }: DevParts): void {
  const rows = [
    ['Web UI', `${record.ui}/namespaces/${record.namespace}/workflows`], ['Temporal', record.address],
    ['machines', `${record.machines.endpoint} (${machineKind})`], ['data', config.dataFolder],
  ] as const;
  output.line('Heddle is up. Ctrl-C stops it; clusters go on when it is started again.');
  output.line();
  for (const [name, value] of rows) output.line(`  ${name.padEnd(9)} ${value}`);
  output.line();
  if (config.temporal.configured) {
    output.line(`warning: Temporal's own settings name ${config.temporal.address}, and other commands follow those; give them --address ${record.address}`);
  }
  output.line('next, in another terminal: heddle apply cluster.yaml');
  output.record({ ready: true, ...record });
}
