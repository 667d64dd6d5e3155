import { existsSync, lstatSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import type { JsonObject } from '../model/json.js';
import type { ProviderAccount } from '../model/provider-account.js';
import { toLimits, toReservations, toSweep, type ReservationConfig } from './convert.js';
import { defaultLimits, type Limits } from '../model/cluster/limits.js';
import type { WebhookAccount } from '../activities/webhook/deliver.js';
import type { RunFolders } from '../model/node/run-folders.js';
import type { SweepSettings } from '../model/sweep/sweep.js';
import type { ProgramOptions } from '../plugins/program/load-program.js';
import {
  configSchema,
  metricsAddressSchema,
  type WrittenBucket,
  type WrittenConfig,
  type WrittenProvider,
} from '../schema/config.js';
import type { BuildCommand } from '../schema/config-builder.js';
import { readConfigFile } from '../schema/read-config.js';
import { milliseconds } from '../model/milliseconds.js';
import { defaultSite } from '../model/names.js';
import { simpleNameSchema } from '../schema/names.js';
import type { NamedFile } from '../schema/named-files.js';
import { errorAt, ProblemsError, type Path, type Place } from '../schema/problem.js';
import { readTextFile } from '../schema/read-text.js';
import { whyUntrusted } from '../schema/trusted-path.js';
import { findNamedFiles } from './own-files.js';
import { folderFault } from './prepare-folder.js';
import { loadTemporal, type Environment, type TemporalConfig } from './temporal.js';

export type { Environment, TemporalConfig } from './temporal.js';

/** Everything that is configured, defaults filled in, paths absolute. */
export interface Config {
  /** The heddle.yaml that was read; absent if there is none. */
  readonly file?: string;
  /** Keys, logs and state; made by `prepareFolder`. */
  readonly dataFolder: string;
  /** Downloads; may be deleted at any time. */
  readonly cacheFolder: string;
  /** The site whose tasks this worker carries out. */
  readonly site: string;
  /** Provider accounts by name. */
  readonly providers: Readonly<Record<string, ProviderAccount>>;
  /** Administrators' fields by automator, as written. Secrets are references. */
  readonly automators: Readonly<Record<string, { readonly fields: JsonObject }>>;
  /** Folders that hold `providers/` and `automators/`, besides the built-in one. */
  readonly pluginFolders: readonly string[];
  /** What plugins that run as programs get of the environment, and may use. */
  readonly programs: ProgramOptions;
  readonly keyFolder: string;
  /** Keys as `heddle keys export` prints them, from HEDDLE_KEYS; they take the place of the folder's. */
  readonly keys?: string;
  readonly storeFolder: string;
  /** The object store that takes the logs, as written; absent: they stay in the folder. */
  readonly bucket?: WrittenBucket;
  /** What the logs of tasks in the folder may take. */
  readonly logBounds: Pick<WrittenConfig['store'], 'logDays' | 'logFiles' | 'logMb'>;
  /** What the run folders of scripts may take on a node. */
  readonly runFolders: RunFolders;
  readonly encryption: 'required' | 'optional';
  /** Secret references that cluster files may use, as patterns; all but commands where it is absent. */
  readonly allowedReferences?: readonly string[];
  /** Variables that commands in cluster files get. */
  readonly commandVariables: readonly string[];
  /** How a large cluster is spread over workflows. */
  readonly limits: Limits;
  /** Whether workflows record where they wait. */
  readonly stackTraces: boolean;
  /** How machines that no cluster has are looked for. */
  readonly sweep: SweepSettings;
  /** Interval of the periodic checks of machines and images, in ms. */
  readonly checksEveryMs: number;
  /** Loads and captures of machines at once in a site. */
  readonly loadsAtOnce: number;
  /** Failures in a row after which a machine is quarantined; 0: never. */
  readonly quarantineAfter: number;
  /** Reservations of machines. */
  readonly reservations: ReservationConfig;
  /** Receivers of events, by name. Secrets are references. */
  readonly webhooks: Readonly<Record<string, WebhookAccount>>;
  /** How images are built, where this worker is a builder. */
  readonly builder: BuilderConfig;
  /** Where the worker's metrics can be read; absent: nowhere. */
  readonly metricsAddress?: string;
  readonly temporal: TemporalConfig;
  /** The whole environment, for secret references and for programs that are started. */
  readonly environment: Environment;
  /** Where each setting came from, for people: `default`, a variable's name, or `FILE:LINE`. */
  readonly origins: Readonly<Record<string, string>>;
  /** Settings of the file that name files, without those that a variable overrides. Workers check them. */
  readonly namedFiles: readonly NamedFile[];
  /** The place of a setting in the file; absent without a file. */
  readonly locate?: (path: Path) => Place;
}

interface BuilderConfig {
  /** Builds at once in a site. */
  readonly builds: number;
  /** Files on their way at once on one builder. */
  readonly uploads: number;
  readonly folder: string;
  /** Commands that make files, by the names that images use. */
  readonly commands: Readonly<Record<string, BuildCommand>>;
}

export interface LoadConfigOptions {
  /** The value of --config. */
  readonly configFlag?: string;
  /** The folder of `./heddle.yaml`; the process's own unless given. */
  readonly cwd?: string;
  /** The process's own unless given. */
  readonly env?: Environment;
  /** A file that is named but not there yet counts as one that says nothing. */
  readonly mayBeMissing?: boolean;
}

/**
 * Reads the configuration: --config, HEDDLE_CONFIG, ./heddle.yaml or the user's configuration folder,
 * whichever is first. Variables go over the file: HEDDLE_DATA_FOLDER, HEDDLE_CACHE_FOLDER, HEDDLE_SITE,
 * HEDDLE_KEYS. Changes nothing.
 * @throws ProblemsError with the place of everything that is wrong.
 */
export function loadConfig({
  configFlag,
  cwd = process.cwd(),
  env = process.env,
  mayBeMissing = false,
}: LoadConfigOptions = {}): Config {
  const home = env['HOME'] ?? homedir();
  const found = findConfigFile({ configFlag, cwd, env, mayBeMissing }, home);
  const base = found === undefined ? cwd : dirname(found.file);
  const written = found?.config ?? configSchema.parse({});
  const origins: Record<string, string> = {};

  const choose = ({ key, path = [key], variable = '', written: fromFile, fallback }: Setting): string => {
    const fromEnvironment = nonEmpty(env[variable]);
    const place = found === undefined || fromFile === undefined ? 'default' : placeText(found.locate(path));
    origins[key] = fromEnvironment === undefined ? place : variable;
    return fromEnvironment ?? fromFile ?? fallback;
  };
  const chooseFolder = (setting: Setting): string => {
    const chosen = choose(setting);
    const folder = toAbsolute(chosen, origins[setting.key] === setting.variable ? cwd : base, home);
    const fault = folderFault(folder);
    if (fault === undefined) return folder;
    const origin = origins[setting.key];
    const source = origin === 'default' ? `it is the default of ${setting.key}` : `it was named by ${origin}`;
    throw configError([errorAt([], `${setting.key}: ${fault}; ${source}`, 'Name another folder.')]);
  };

  const dataFolder = chooseFolder({
    key: 'dataFolder',
    variable: 'HEDDLE_DATA_FOLDER',
    written: written.dataFolder,
    fallback: join(xdg(env, 'XDG_DATA_HOME', home, '.local/share'), 'heddle'),
  });
  const site = choose({ key: 'site', variable: 'HEDDLE_SITE', written: written.site, fallback: defaultSite });
  if (!simpleNameSchema.safeParse(site).success)
    throw configError([
      errorAt(
        [],
        `HEDDLE_SITE is ${JSON.stringify(site)}`,
        'A site is named with lower-case letters, digits and hyphens.',
      ),
    ]);
  const metricsAddress = nonEmpty(env['HEDDLE_METRICS']) ?? written.metrics?.address;
  if (metricsAddress !== undefined && !metricsAddressSchema.safeParse(metricsAddress).success)
    throw configError([
      errorAt(
        [],
        `HEDDLE_METRICS is ${JSON.stringify(metricsAddress)}`,
        'An address and a port: 127.0.0.1:9464.',
      ),
    ]);
  const providers = Object.fromEntries(
    Object.entries(written.providers).map(([name, provider]) => {
      if (found !== undefined) origins[`providers.${name}`] = placeText(found.locate(['providers', name]));
      return [name, toProvider(provider, site)];
    }),
  );
  const { logDays, logFiles, logMb } = written.store;
  return {
    file: found?.file,
    locate: found?.locate,
    dataFolder,
    cacheFolder: chooseFolder({
      key: 'cacheFolder',
      variable: 'HEDDLE_CACHE_FOLDER',
      written: written.cacheFolder,
      fallback: join(xdg(env, 'XDG_CACHE_HOME', home, '.cache'), 'heddle'),
    }),
    site,
    providers,
    automators: written.automators,
    pluginFolders: written.plugins.map((entry, index) =>
      findPluginFolder(entry, base, home, found?.locate(['plugins', index])),
    ),
    programs: {
      environment: env,
      passed: written.pluginEnvironment,
      pythonFolder: join(dataFolder, 'python'),
      limits: Object.fromEntries(
        Object.entries(written.pluginLimits).map(([name, limits]) => [name, toLimits(limits)]),
      ),
    },
    keyFolder: chooseFolder({
      key: 'keyFolder',
      path: ['keys', 'folder'],
      written: written.keys.folder,
      fallback: join(dataFolder, 'keys'),
    }),
    keys: nonEmpty(env['HEDDLE_KEYS']),
    storeFolder: chooseFolder({
      key: 'storeFolder',
      path: ['store', 'folder'],
      written: written.store.folder,
      fallback: join(dataFolder, 'store'),
    }),
    bucket: written.store.s3,
    logBounds: { logDays, logFiles, logMb },
    runFolders: written.runFolders,
    encryption: written.encryption,
    allowedReferences: written.secrets?.allow,
    commandVariables: written.secrets?.environment ?? [],
    limits: { ...defaultLimits, ...written.scale },
    stackTraces: written.stackTraces,
    reservations: toReservations(written.reservations),
    sweep: toSweep(written.sweep),
    checksEveryMs: milliseconds(written.periodicChecks?.every ?? 300),
    loadsAtOnce: written.loadsAtOnce,
    quarantineAfter: written.quarantineAfter,
    metricsAddress,
    webhooks: written.webhooks,
    builder: {
      builds: written.builder?.builds ?? 1,
      uploads: written.builder?.uploads ?? 4,
      commands: written.builder?.commands ?? {},
      folder: chooseFolder({
        key: 'builder.folder',
        path: ['builder', 'folder'],
        written: written.builder?.folder,
        fallback: join(dataFolder, 'images'),
      }),
    },
    temporal: loadTemporal(env),
    environment: env,
    origins,
    namedFiles: findNamedFiles(written, (path) => toAbsolute(path, base, home)).filter(
      ({ path: [key = ''] }) => nonEmpty(env[overriding[key] ?? '']) === undefined,
    ),
  };
}

/** Variables that take the place of settings, by the first key of the setting. */
const overriding: Readonly<Record<string, string>> = {
  dataFolder: 'HEDDLE_DATA_FOLDER',
  cacheFolder: 'HEDDLE_CACHE_FOLDER',
  keys: 'HEDDLE_KEYS',
};

const variablePrefix = 'HEDDLE_VAR_';

/** Values of variables of cluster files by their names: HEDDLE_VAR_x is the value of x. */
export function givenByEnvironment(env: Environment = process.env): Readonly<Record<string, string>> {
  return Object.fromEntries(
    startingWith(variablePrefix, env).map(([name, value]) => [name.slice(variablePrefix.length), value]),
  );
}

/** Variables that Nodepool replaces in its configuration, by their whole names. */
export function nodepoolVariables(env: Environment = process.env): Readonly<Record<string, string>> {
  return Object.fromEntries(startingWith('NODEPOOL_', env));
}

function startingWith(prefix: string, env: Environment): readonly (readonly [name: string, value: string])[] {
  return Object.entries(env).flatMap(([name, value]) =>
    name.startsWith(prefix) && value !== undefined ? [[name, value] as const] : [],
  );
}

/** A setting with its sources, in the order of precedence. */
interface Setting {
  readonly key: string;
  readonly path?: Path;
  readonly variable?: string;
  readonly written: string | undefined;
  readonly fallback: string;
}

interface FoundConfig {
  readonly file: string;
  readonly config: WrittenConfig;
  readonly locate: (path: Path) => Place;
}

function findConfigFile(
  {
    configFlag: flag,
    cwd,
    env,
    mayBeMissing,
  }: Required<Omit<LoadConfigOptions, 'configFlag'>> & Pick<LoadConfigOptions, 'configFlag'>,
  home: string,
): FoundConfig | undefined {
  const variable = nonEmpty(env['HEDDLE_CONFIG']);
  const named = flag ?? variable;
  const candidates =
    named !== undefined
      ? [resolve(cwd, named)]
      : [
          join(cwd, 'heddle.yaml'),
          join(xdg(env, 'XDG_CONFIG_HOME', home, '.config'), 'heddle', 'heddle.yaml'),
        ];
  for (const file of candidates) {
    if (named === undefined && existsSync(file)) refuseForeign(file);
    const read = readTextFile(file, 1024 * 1024);
    if (!read.ok && read.missing === true && (named === undefined || mayBeMissing)) continue;
    if (!read.ok) {
      const by = flag !== undefined ? '--config' : variable !== undefined ? 'HEDDLE_CONFIG' : undefined;
      const right = by === undefined ? undefined : `It was named by ${by}.`;
      throw configError([
        {
          ...errorAt([], `cannot read the configuration: ${read.wrong}`, right),
          place: { file, line: 1, column: 1 },
        },
      ]);
    }
    const reading = readConfigFile(read.text, file);
    if (!reading.ok) throw configError(reading.problems);
    return { file, config: reading.config, locate: reading.locate };
  }
  return undefined;
}

/** A file that was found, not named, must not let its owner decide what Heddle runs. */
function refuseForeign(file: string): void {
  const distrust = whyUntrusted(file);
  if (distrust === undefined) return;
  const right = `${distrust.right}. To use the file as it is, name it: --config '${file}' or HEDDLE_CONFIG.`;
  throw configError([
    { ...errorAt([], `${distrust.path} ${distrust.wrong}`, right), place: { file, line: 1, column: 1 } },
  ]);
}

function configError(problems: ConstructorParameters<typeof ProblemsError>[1]): ProblemsError {
  return new ProblemsError('The configuration cannot be used:', problems);
}

function toProvider({ site, ...provider }: WrittenProvider, ownSite: string): ProviderAccount {
  return { ...provider, site: site ?? ownSite };
}

/** Resolves a folder by path, or a package by name from the configuration's folder upwards. */
function findPluginFolder(entry: string, base: string, home: string, place: Place | undefined): string {
  if (/^[./~]/.test(entry)) {
    const folder = toAbsolute(entry, base, home);
    if (existsSync(folder)) return folder;
    const problem = errorAt(['plugins'], `there is no folder ${folder}`, 'Create it, or remove the entry.');
    throw configError([{ ...problem, place }]);
  }
  for (let folder = base; ; folder = dirname(folder)) {
    const candidate = join(folder, 'node_modules', entry);
    if (existsSync(candidate) && lstatSync(dirname(candidate)).isDirectory()) return candidate;
    if (folder === dirname(folder)) break;
  }
  const problem = errorAt(
    ['plugins'],
    `there is no package ${entry} from ${base} upwards`,
    'Install it, or begin a path with ./ or /.',
  );
  throw configError([{ ...problem, place }]);
}

/** Folders of the XDG base directory specification; relative values are to be ignored, it says. */
function xdg(env: Environment, variable: string, home: string, fallback: string): string {
  const value = env[variable];
  return value !== undefined && isAbsolute(value) ? value : join(home, fallback);
}

function toAbsolute(path: string, base: string, home: string): string {
  if (path === '~' || path.startsWith('~/')) return join(home, path.slice(1));
  return resolve(base, path);
}

const nonEmpty = (value: string | undefined): string | undefined => (value === '' ? undefined : value);
const placeText = ({ file, line }: Place): string => `${file}:${line}`;
