import type { Config } from '../../config/index.js';
import { hideEnvironment } from '../../config/hide-environment.js';
import { prepareFolder } from '../../config/prepare-folder.js';
import { isDiskFault, wordsForWriteError } from '../../schema/read-text.js';
import { describeProcess } from '../../config/process-dump.js';
import { findBinary } from '../../server/find-binary.js';
import { isRunning, markOf } from '../../detached/process-mark.js';
import { endProcess } from '../../server/process.js';
import { ProblemsError } from '../../schema/problem.js';
import { describeUsers } from '../account/account-users.js';
import { openWorkspace } from '../account/workspace.js';
import { CliError, exitCodes } from '../errors.js';
import { isSameAddress, readConfiguration, type CommonOptions } from '../configuration.js';
import {
  devRecordFile,
  findDev,
  readDevRecord,
  removeDevRecord,
  writeDevRecord,
  type DevRecord,
} from './dev-record.js';
import { configFileOf, describeOutcome, followFile } from './dev-follow.js';
import { startServicesAgain } from './dev-services.js';
import { startParts, type DevOptions, type DevParts } from './dev-parts.js';
import { createOutput, type Output } from '../output.js';
import { endWithParent } from '../../config/end-with-parent.js';
import { catchInterrupt } from '../interrupts.js';
import { formatClock } from '../format.js';
import {
  clusterWorkflowType,
  imageWorkflowType,
  machineWorkflowType,
  poolWorkflowType,
  reservationsWorkflowType,
  searchAttributes,
} from '../../model/names.js';
import { isSystemError } from '../../model/system-error.js';

/**
 * Starts everything on this machine and keeps it running until Ctrl-C. Clusters live in the data folder and
 * continue after a restart.
 */
export async function dev(options: RunOptions): Promise<number> {
  hideEnvironment();
  const config = readConfiguration(options);
  prepareFolder(config.dataFolder);
  const output = createOutput(options);
  const say = (line: string): void => output.note(`${formatClock(new Date())} ${line}`);
  await removeDamagedRecord(config, say);
  await refuseSecond(config);
  await endStrays(config, say);
  say('starting the Temporal server, the machine service and a worker; this takes some seconds');
  const interrupt = catchInterrupt();
  endWithParent(() => process.kill(process.pid, 'SIGTERM'));
  const { path: binary } = await writeIn(`the cache folder ${config.cacheFolder}`, () =>
    findBinary({
      temporalCli: config.environment['TEMPORAL_CLI'],
      path: config.environment['PATH'],
      cacheFolder: config.cacheFolder,
      say,
    }),
  );
  // The workers and the machine service write theirs to their logs.
  let children = async (): Promise<readonly number[]> => [];
  const dump = (): void => {
    for (const line of describeProcess()) say(line);
    children().then(
      (pids) => pids.forEach((pid) => process.kill(pid, 'SIGUSR2')),
      (error: unknown) => say(`not all processes received the signal: ${String(error)}`),
    );
  };
  process.on('SIGUSR2', dump);
  let record = async (): Promise<void> => undefined;
  const onChange = (): void =>
    void record().catch((error: unknown) =>
      say(`${devRecordFile(config.dataFolder)} could not be written: ${String(error)}`),
    );
  const ending = new AbortController();
  let startServices = async (): Promise<void> => undefined;
  let stopFollowing = (): void => undefined;
  const dataFolder = `the data folder ${config.dataFolder}`;
  const parts = await writeIn(dataFolder, () =>
    startParts(config, binary, {
      ...options,
      say,
      onChange,
      onMachinesBack: () => void startServices(),
      onConfigured: (outcome) => say(describeOutcome(configFileOf(config), outcome)),
      openWorkspace: () => openWorkspace(options),
      describeUsers: (account) => describeUsers({ config: options.config }, account),
    }),
  );
  try {
    record = await writeIn(dataFolder, () => openRecord(config, parts));
    children = async () => {
      const { worker, machines } = (await parts.record()).processes;
      return [worker, machines].filter(({ started }) => started !== 'gone').map(({ pid }) => pid);
    };
    await announce(output, config, parts);
    stopFollowing = followFile(config, () => readConfiguration(options), parts, say);
    startServices = () => startServicesAgain({ config, record: parts.record, say, signal: ending.signal });
    void startServices();
    const ended = await Promise.race([parts.serverEnded, interrupt.happened.catch(() => undefined)]);
    if (ended === undefined) return exitCodes.ok;
    throw new CliError(
      'Failed',
      `the Temporal server ended (${ended}), so everything ends. The end of its log:\n${await parts.serverLogTail()}`,
      { next: 'heddle dev' },
    );
  } finally {
    interrupt.release();
    process.off('SIGUSR2', dump);
    ending.abort();
    stopFollowing();
    // The processes are stopped when this process exits, but not when a signal kills it.
    process.on('SIGINT', () => process.exit(exitCodes.interrupted));
    say('stopping; press Ctrl-C again to end at once');
    await removeDevRecord(config.dataFolder);
    await parts.stop();
    say('stopped; clusters continue when heddle dev is started again');
  }
}

/** Names the file of an error of the disk, or the folder: the error often does not name the file. */
async function writeIn<Result>(folder: string, write: () => Promise<Result>): Promise<Result> {
  try {
    return await write();
  } catch (error) {
    if (!isSystemError(error) || !isDiskFault(error)) throw error;
    throw new CliError('Failed', `${error.path ?? folder} cannot be written: ${wordsForWriteError(error)}`, {
      cause: error,
    });
  }
}

type RunOptions = CommonOptions &
  Omit<
    DevOptions,
    'say' | 'onChange' | 'onMachinesBack' | 'onConfigured' | 'openWorkspace' | 'describeUsers'
  >;

/** A server that another `heddle dev` still runs is found by its claim of the data folder. */
async function removeDamagedRecord({ dataFolder }: Config, say: (line: string) => void): Promise<void> {
  await readDevRecord(dataFolder).catch(async (error: unknown) => {
    if (!(error instanceof ProblemsError)) throw error;
    say(`${devRecordFile(dataFolder)} is damaged, and is replaced`);
    await removeDevRecord(dataFolder);
  });
}

/** Ends the processes that a killed `heddle dev` left; the start of the server handles the server. */
async function endStrays({ dataFolder }: Config, say: (line: string) => void): Promise<void> {
  const left = await readDevRecord(dataFolder);
  for (const name of ['worker', 'machines'] as const) {
    const stray = left?.processes[name];
    if (stray === undefined || !(await isRunning(stray))) continue;
    say(`ending the ${name} (process ${stray.pid}) that an earlier heddle dev left behind`);
    await endProcess(stray);
  }
}

/** Writes where everything runs, and gives the way to write it again. */
async function openRecord({ dataFolder, file }: Config, parts: DevParts): Promise<() => Promise<void>> {
  const owner = await markOf(process.pid);
  if (owner === undefined)
    throw new Error(
      `this process (${process.pid}) cannot be seen in the process table, which its record in ${dataFolder} needs`,
    );
  const write = async (): Promise<void> =>
    writeDevRecord(dataFolder, { owner, configFile: file, ...(await parts.record()) });
  await write();
  return write;
}

async function refuseSecond({ dataFolder }: Config): Promise<void> {
  const running = await findDev(dataFolder);
  if (running === undefined) return;
  throw new CliError(
    'Refused',
    `heddle dev is already running on ${dataFolder}: process ${running.owner.pid}, Temporal at ${running.address}, Web UI at ${running.ui}. ` +
      'Use that one, stop it, or set HEDDLE_DATA_FOLDER to another folder for a second one.',
    { next: 'heddle list' },
  );
}

async function announce(output: Output, config: Config, parts: DevParts): Promise<void> {
  const record = await parts.record();
  const rows = [
    ['Web UI', webUiLink(record, webUiQueries.own)],
    ['held', webUiLink(record, webUiQueries.held)],
    ['Temporal', record.address],
    ['machines', `${record.machines.endpoint} (${parts.machineKind})`],
    ['accounts', record.accounts],
    [
      'codec',
      `${record.codecEndpoint} (a secret; enter it in the Web UI under "Codec Server" to read payloads)`,
    ],
    ['data', config.dataFolder],
  ] as const;
  output.line('Heddle is up. Ctrl-C stops it; clusters continue when it is started again.');
  output.line();
  for (const [name, value] of rows) output.line(`  ${name.padEnd(9)} ${value}`);
  output.line();
  if (config.temporal.configured && !isSameAddress(config.temporal.address, record.address)) {
    output.line(
      `warning: Temporal's own settings name ${config.temporal.address}, which other commands use; pass them --address ${record.address}`,
    );
  }
  output.line('next, in another terminal: heddle apply cluster.yaml');
  output.record({ ready: true, ...record });
}

const own = [
  clusterWorkflowType,
  poolWorkflowType,
  machineWorkflowType,
  imageWorkflowType,
  reservationsWorkflowType,
];

/**
 * Queries for the list of workflows: what users made, without the workflows that help it;
 * clusters that wait for them.
 */
export const webUiQueries = {
  own: `WorkflowType IN (${own.map((type) => `"${type}"`).join(',')})`,
  held: `${searchAttributes.phase}="held" AND ExecutionStatus="Running"`,
} as const;

/** The address of a list of workflows. */
export function webUiLink({ ui, namespace }: Pick<DevRecord, 'ui' | 'namespace'>, query: string): string {
  return `${ui}/namespaces/${namespace}/workflows?${new URLSearchParams({ query }).toString()}`;
}
