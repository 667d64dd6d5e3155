import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import writeFileAtomic from 'write-file-atomic';
import type { Config } from '../../config/index.js';
import { configSchema, type Settings } from '../../schema/config.js';
import type { RunningMachines } from './dev-machines.js';

/**
 * The configuration of our worker, and of any other that joins: the user's, plus the machine service as
 * provider `local` unless that name is taken.
 */
export async function writeWorkerConfig(
  config: Config,
  { endpoint, apiKeyFile }: RunningMachines,
): Promise<string> {
  const local = {
    type: 'local',
    site: config.site,
    fields: { endpoint, apiKey: { secret: `file:${apiKeyFile}` } },
    // The defaults for clusters that name neither.
    hardware: { default: 'small' },
    images: { default: 'host' },
  };
  const settings = Object.keys(configSchema.shape).map((key) => [key, config[key as keyof Settings]]);
  const document = {
    ...Object.fromEntries(settings),
    $schema: undefined,
    providers: { local, ...config.providers },
  };
  const { dataFolder } = config;
  const file = join(dataFolder, 'dev-worker.yaml');
  await mkdir(dataFolder, { recursive: true, mode: 0o700 });
  await writeFileAtomic(
    file,
    `# Written by heddle dev at each start, and when heddle.yaml changes.\n${JSON.stringify(document, undefined, 2)}\n`,
    { mode: 0o600 },
  );
  return file;
}
