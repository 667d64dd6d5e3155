import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../config/index.js';
import { restartSettings } from '../schema/config.js';

/** What stays as it was when the worker started, until it is restarted. */
const kept = [
  ...restartSettings,
  'file',
  'environment',
  'temporal',
  'exportedKeys',
  'programs',
] as const satisfies readonly (keyof Config)[];

export interface Reloaded {
  readonly config: Config;
  /** Settings that changed and need a restart of the worker. */
  readonly restart: readonly string[];
}

/**
 * The configuration of a running worker after its file changed.
 * @param next as the file reads for a worker of the present site
 * @param written the same without regard to the site
 */
export function reloadConfig(current: Config, next: Config, written: Config): Reloaded {
  const restart = restartSettings.filter((key) => !isDeepStrictEqual(current[key], written[key])).toSorted();
  const config: Config = { ...next, ...Object.fromEntries(kept.map((key) => [key, current[key]])) };
  if (restart.length === 0) return { config, restart };
  // Until the restart this worker uses the secrets and files of both.
  const union = <T>(before: readonly T[], after: readonly T[]): readonly T[] => [
    ...after,
    ...before.filter((one) => !after.some((other) => isDeepStrictEqual(one, other))),
  ];
  return {
    config: {
      ...config,
      references: union(current.references, next.references),
      namedFiles: union(current.namedFiles, next.namedFiles),
    },
    restart,
  };
}
