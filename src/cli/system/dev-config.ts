import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import writeFileAtomic from 'write-file-atomic';
import type { Config } from '../../config/index.js';
import type { RunningMachines } from './dev-machines.js';

/**
 * The configuration of our worker, and of any other that joins: the user's, plus the machine service as
 * provider `local` unless that name is taken.
 */
export async function writeWorkerConfig(
  config: Config,
  { endpoint, apiKeyFile }: RunningMachines,
): Promise<string> {
  const { dataFolder, site, metricsAddress, reservations, allowedReferences, commandVariables, sweep } =
    config;
  const { settings, notify } = reservations;
  const { minimumAgeMs, ...policy } = sweep.policy;
  const local = {
    type: 'local',
    site,
    fields: { endpoint, apiKey: { secret: `file:${apiKeyFile}` } },
    // The defaults for clusters that name neither.
    hardware: { default: 'small' },
    images: { default: 'host' },
  };
  const document = {
    dataFolder,
    cacheFolder: config.cacheFolder,
    site,
    encryption: config.encryption,
    plugins: config.pluginFolders,
    keys: { folder: config.keyFolder },
    store: { folder: config.storeFolder, s3: config.bucket, ...config.logBounds },
    runFolders: config.runFolders,
    providers: { local, ...config.providers },
    automators: config.automators,
    scale: config.limits,
    stackTraces: config.stackTraces,
    loadsAtOnce: config.loadsAtOnce,
    quarantineAfter: config.quarantineAfter,
    metrics: metricsAddress && { address: metricsAddress },
    reservations: {
      prepare: `${settings.prepareMs}ms`,
      remind: `${settings.remindMs}ms`,
      longest: `${settings.longestMs}ms`,
      notify,
    },
    webhooks: config.webhooks,
    builder: config.builder,
    periodicChecks: { every: `${config.checksEveryMs}ms` },
    sweep: { every: `${sweep.everyMs}ms`, minimumAge: `${minimumAgeMs}ms`, ...policy },
    secrets: { allow: allowedReferences, environment: commandVariables },
    pluginEnvironment: config.programs.passed,
    pluginLimits: Object.fromEntries(
      Object.entries(config.programs.limits).map(([name, { timeMs, ...more }]) => [
        name,
        { ...more, time: timeMs === undefined ? undefined : `${timeMs}ms` },
      ]),
    ),
  };
  const file = join(dataFolder, 'dev-worker.yaml');
  await mkdir(dataFolder, { recursive: true, mode: 0o700 });
  await writeFileAtomic(
    file,
    `# Written by heddle dev at each start, and when heddle.yaml changes.\n${JSON.stringify(document, undefined, 2)}\n`,
    { mode: 0o600 },
  );
  return file;
}
