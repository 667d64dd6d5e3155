import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../../config/index.js';
import { watchFile } from '../../config/watch-file.js';
import { checkConfiguration } from '../../plugins/check-accounts.js';
import { configSchema, restartSettings, type Settings } from '../../schema/config.js';
import type { ConfigOutcome } from '../../worker/follow-config.js';
import { inspectPlugins } from '../inspect-plugins.js';
import { messageOf } from '../report-error.js';
import type { DevParts } from './dev-parts.js';

/** Settings that the processes besides the worker read when they start. */
const ownSettings = [
  'dataFolder',
  'cacheFolder',
  'site',
  'keys',
] as const satisfies readonly (keyof Config)[];

const settingNames = Object.keys(configSchema.shape) as readonly (keyof Settings)[];

/** `heddle provider add` makes one there if there is none. */
export function configFileOf({ file = resolve('heddle.yaml') }: Pick<Config, 'file'>): string {
  return file;
}

/**
 * Checks a changed heddle.yaml and passes it on to the worker, which reads a file that `heddle dev` writes and
 * reports the outcome. Restarts the worker for settings it reads only at start.
 * @returns a function that stops this.
 */
export function followFile(
  config: Config,
  read: () => Config,
  parts: Pick<DevParts, 'configure' | 'restartWorker'>,
  say: (line: string) => void,
): () => void {
  const file = configFileOf(config);
  let current = config;
  const pass = async (): Promise<void> => {
    const changed = read();
    const isChanged = (key: keyof Config): boolean => !isDeepStrictEqual(current[key], changed[key]);
    if (!settingNames.some(isChanged)) {
      say(`${file} changed; the settings of the worker stay the same`);
      return;
    }
    const own = ownSettings.filter(isChanged);
    if (own.length > 0) throw new Error(`A change of ${own.join(', ')} requires a restart of heddle dev.`);
    const restart = restartSettings.filter(isChanged);
    // A worker that is killed starts with what was written.
    checkConfiguration(await inspectPlugins(changed), changed);
    await parts.configure(changed);
    current = changed;
    if (restart.length === 0) return;
    say(`${file} changed; restarting the worker, which reads ${restart.join(', ')} only when it starts`);
    await parts.restartWorker();
  };
  return watchFile(file, (missing) =>
    (missing === undefined ? pass() : Promise.reject(new Error(missing))).catch((error: unknown) =>
      say(describeOutcome(file, { became: 'refused', why: messageOf(error) })),
    ),
  );
}

export function describeOutcome(file: string, outcome: ConfigOutcome): string {
  switch (outcome.became) {
    case 'applied':
      return `${file} changed and is applied`;
    case 'refused':
      return `${file} changed and is not applied; the previous configuration stays in effect. ${outcome.why}`;
    case 'failed':
      return `${file} changed and could not be applied; restart heddle dev. ${outcome.why}`;
  }
}
