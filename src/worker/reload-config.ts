import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../config/index.js';

/** Settings that a running worker applies from a changed heddle.yaml. */
const live = [
  'providers',
  'automators',
  'allowedReferences',
  'commandVariables',
  'limits',
  'loadsAtOnce',
  'quarantineAfter',
  'runFolders',
  'reservations',
  'webhooks',
  'sweep',
  'checksEveryMs',
  'namedFiles',
  'references',
  'origins',
  'locate',
] as const satisfies readonly (keyof Config)[];

type Fixed = Exclude<keyof Config, (typeof live)[number] | 'file' | 'environment' | 'temporal' | 'keys'>;

/** The others, by their names in heddle.yaml: they decide what the process is. */
const fixed: Readonly<Record<Fixed, string>> = {
  dataFolder: 'dataFolder',
  cacheFolder: 'cacheFolder',
  site: 'site',
  pluginFolders: 'plugins',
  programs: 'pluginLimits or pluginEnvironment',
  keyFolder: 'keys',
  storeFolder: 'store',
  bucket: 'store',
  logBounds: 'store',
  encryption: 'encryption',
  stackTraces: 'stackTraces',
  builder: 'builder',
  metricsAddress: 'metrics',
};

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
  const changes = Object.fromEntries(live.map((key) => [key, next[key]])) as Pick<
    Config,
    (typeof live)[number]
  >;
  // Programs also have the environment, which does not change.
  const valueOf = (config: Config, key: Fixed): unknown =>
    key === 'programs' ? [config.programs.limits, config.programs.passed] : config[key];
  const differing = (Object.keys(fixed) as Fixed[]).filter(
    (key) => !isDeepStrictEqual(valueOf(current, key), valueOf(written, key)),
  );
  if (differing.length === 0) return { config: { ...current, ...changes }, restart: [] };
  // Until the restart this worker uses the secrets and files of both.
  const union = <T>(before: readonly T[], after: readonly T[]): readonly T[] => [
    ...after,
    ...before.filter((one) => !after.some((other) => isDeepStrictEqual(one, other))),
  ];
  return {
    config: {
      ...current,
      ...changes,
      references: union(current.references, next.references),
      namedFiles: union(current.namedFiles, next.namedFiles),
    },
    restart: [...new Set(differing.map((key) => fixed[key]))].toSorted(),
  };
}
