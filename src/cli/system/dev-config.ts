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
  const {
    dataFolder,
    metricsAddress,
    cacheFolder,
    site,
    pluginFolders,
    keyFolder,
    storeFolder,
    logDays,
    encryption,
    checksEveryMs,
    builder,
  } = config;
  const local = {
    type: 'local',
    site,
    fields: { endpoint, apiKey: { secret: `file:${apiKeyFile}` } },
    // What clusters get that name neither.
    hardware: { default: 'small' },
    images: { default: 'host' },
  };
  const {
    limits,
    allowedReferences,
    programs,
    sweep: {
      everyMs,
      policy: { minimumAgeMs, ...policy },
    },
    loadsAtOnce,
    automators,
    reservations: { settings, notify },
  } = config;
  const document = {
    dataFolder,
    cacheFolder,
    site,
    encryption,
    plugins: pluginFolders,
    keys: { folder: keyFolder },
    store: { folder: storeFolder, logDays },
    providers: { local, ...config.providers },
    automators,
    scale: limits,
    loadsAtOnce,
    metrics: metricsAddress === undefined ? undefined : { address: metricsAddress },
    reservations: {
      prepare: `${settings.prepareMs}ms`,
      remind: `${settings.remindMs}ms`,
      longest: `${settings.longestMs}ms`,
      notify,
    },
    builder,
    periodicChecks: { every: `${checksEveryMs}ms` },
    sweep: { every: `${everyMs}ms`, minimumAge: `${minimumAgeMs}ms`, ...policy },
    secrets: allowedReferences === undefined ? undefined : { allow: allowedReferences },
    pluginLimits: Object.fromEntries(
      Object.entries(programs.limits).map(([name, { timeMs, ...more }]) => [
        name,
        { ...more, ...(timeMs === undefined ? {} : { time: `${timeMs}ms` }) },
      ]),
    ),
  };
  const file = join(dataFolder, 'dev-worker.yaml');
  await mkdir(dataFolder, { recursive: true, mode: 0o700 });
  await writeFileAtomic(
    file,
    `# Written by heddle dev at each start.\n${JSON.stringify(document, undefined, 2)}\n`,
    { mode: 0o600 },
  );
  return file;
}
