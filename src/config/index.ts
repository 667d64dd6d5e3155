import { existsSync, lstatSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { byName } from '../model/by-name.js';
import type { ProviderAccount } from '../model/provider-account.js';
import type { ProgramOptions } from '../plugins/program/load-program.js';
import { configSchema, metricsAddressSchema, type Settings } from '../schema/config.js';
import { readConfigFile } from '../schema/read-config.js';
import { defaultSite } from '../model/names.js';
import { writtenReferences } from '../model/secret-reference.js';
import { simpleNameSchema } from '../schema/names.js';
import type { NamedFile } from '../schema/named-files.js';
import { errorAt, ProblemsError, type Path, type Place } from '../schema/problem.js';
import { isPresent, readLinkedFile } from '../schema/read-text.js';
import { whyUntrusted } from '../schema/trusted-path.js';
import { findNamedFiles } from './own-files.js';
import { folderFault } from './prepare-folder.js';
import { loadTemporal, type Environment, type TemporalConfig } from './temporal.js';

export type { Environment, TemporalConfig } from './temporal.js';

/**
 * The settings of heddle.yaml with absolute paths and what variables override, and what else
 * the process needs.
 */
export interface Config extends Readonly<Omit<Settings, 'providers'>> {
  /** The heddle.yaml that was read; absent if there is none. */
  readonly file?: string;
  /** Keys, logs and state; created by `prepareFolder`. */
  readonly dataFolder: string;
  readonly cacheFolder: string;
  readonly site: string;
  /** Provider accounts by name, each with its site. */
  readonly providers: Readonly<Record<string, ProviderAccount>>;
  readonly keys: { readonly folder: string };
  readonly store: Settings['store'] & { readonly folder: string };
  readonly builder: Settings['builder'] & { readonly folder: string };
  /** Keys as `heddle keys export` prints them, from HEDDLE_KEYS; they replace those of the folder. */
  readonly exportedKeys?: string;
  /** Environment and limits of plugins that run as programs. */
  readonly programs: ProgramOptions;
  readonly temporal: TemporalConfig;
  /** The whole environment, for secret references and child processes. */
  readonly environment: Environment;
  /** The source of each setting, for users: `default`, the name of a variable, or `FILE:LINE`. */
  readonly origins: Readonly<Record<string, string>>;
  /** Settings of the file that name files, except those that a variable overrides. Workers check them. */
  readonly namedFiles: readonly NamedFile[];
  /** All secret references in the file, and `file:` for each `keyFile`. */
  readonly references: readonly string[];
  /** The place of a setting in the file; absent without a file. */
  readonly locate?: (path: Path) => Place;
}

export interface LoadConfigOptions {
  /** The value of --config. */
  readonly configFlag?: string;
  /** The folder of `./heddle.yaml`. Default: the working folder of the process. */
  readonly cwd?: string;
  /** Default: the environment of the process. */
  readonly env?: Environment;
  /** Whether a named file that does not exist counts as an empty one. */
  readonly mayBeMissing?: boolean;
}

/**
 * Reads the configuration from the first of: --config, HEDDLE_CONFIG, ./heddle.yaml, the user's
 * configuration folder. Variables override the file: HEDDLE_DATA_FOLDER, HEDDLE_CACHE_FOLDER,
 * HEDDLE_SITE, HEDDLE_KEYS. Does not write anything.
 * @throws ProblemsError with the place of each problem.
 */
export function loadConfig({
  configFlag,
  cwd = process.cwd(),
  env = process.env,
  mayBeMissing = false,
}: LoadConfigOptions = {}): Config {
  refuseEmpty(env);
  const home = env['HOME'] ?? homedir();
  const found = findConfigFile({ configFlag, cwd, env, mayBeMissing }, home);
  const base = found === undefined ? cwd : dirname(found.file);
  const written = found?.config ?? configSchema.parse({});
  const origins: Record<string, string> = {};

  const choose = ({ key, path = [key], variable = '', written: fromFile, fallback }: Setting): string => {
    const fromEnvironment = env[variable];
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
    const source = origin === 'default' ? `it is the default of ${setting.key}` : `it was set by ${origin}`;
    throw configError([errorAt([], `${setting.key}: ${fault}; ${source}`, 'Specify another folder.')]);
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
        'The name of a site consists of lower-case letters, digits and hyphens.',
      ),
    ]);
  const metricsAddress = env['HEDDLE_METRICS'] ?? written.metrics?.address;
  if (metricsAddress !== undefined && !metricsAddressSchema.safeParse(metricsAddress).success)
    throw configError([
      errorAt(
        [],
        `HEDDLE_METRICS is ${JSON.stringify(metricsAddress)}`,
        'It must be an address and a port, such as 127.0.0.1:9464.',
      ),
    ]);
  const providers = byName(
    Object.entries(written.providers).map(([name, provider]): [string, ProviderAccount] => {
      if (found !== undefined) origins[`providers.${name}`] = placeText(found.locate(['providers', name]));
      return [name, toProvider(provider, site)];
    }),
  );
  return {
    ...written,
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
    plugins: written.plugins.map((entry, index) =>
      findPluginFolder(entry, base, home, found?.locate(['plugins', index])),
    ),
    programs: {
      environment: env,
      passed: written.pluginEnvironment,
      pythonFolder: join(dataFolder, 'python'),
      limits: written.pluginLimits,
    },
    keys: {
      folder: chooseFolder({
        key: 'keyFolder',
        path: ['keys', 'folder'],
        written: written.keys.folder,
        fallback: join(dataFolder, 'keys'),
      }),
    },
    exportedKeys: env['HEDDLE_KEYS'],
    store: {
      ...written.store,
      folder: chooseFolder({
        key: 'storeFolder',
        path: ['store', 'folder'],
        written: written.store.folder,
        fallback: join(dataFolder, 'store'),
      }),
    },
    metrics: metricsAddress === undefined ? undefined : { address: metricsAddress },
    webhooks: byName(Object.entries(written.webhooks)),
    builder: {
      ...written.builder,
      folder: chooseFolder({
        key: 'builder.folder',
        path: ['builder', 'folder'],
        written: written.builder.folder,
        fallback: join(dataFolder, 'images'),
      }),
    },
    temporal: loadTemporal(env),
    environment: env,
    origins,
    references: writtenReferences(written).map(({ reference }) => reference),
    namedFiles: findNamedFiles(written, (path) => toAbsolute(path, base, home)).filter(
      ({ path: [key = ''] }) => env[overriding[key] ?? ''] === undefined,
    ),
  };
}

/** Variables that override settings, by the first key of the setting. */
const overriding: Readonly<Record<string, string>> = {
  dataFolder: 'HEDDLE_DATA_FOLDER',
  cacheFolder: 'HEDDLE_CACHE_FOLDER',
  keys: 'HEDDLE_KEYS',
};

const settingVariables = ['HEDDLE_CONFIG', 'HEDDLE_SITE', 'HEDDLE_METRICS', ...Object.values(overriding)];

/** An empty variable is a mistake, such as an unset variable of a script. */
function refuseEmpty(env: Environment): void {
  for (const variable of settingVariables)
    if (env[variable]?.trim() === '')
      throw configError([errorAt([], `${variable} is empty`, 'Set it, or unset it.')]);
}

const variablePrefix = 'HEDDLE_VAR_';

/** Values of variables of cluster files, by name: HEDDLE_VAR_x is the value of x. */
export function givenByEnvironment(env: Environment = process.env): Readonly<Record<string, string>> {
  return Object.fromEntries(
    startingWith(variablePrefix, env).map(([name, value]) => [name.slice(variablePrefix.length), value]),
  );
}

/** Variables that Nodepool replaces in its configuration, by full name. */
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
  readonly config: Settings;
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
  const variable = env['HEDDLE_CONFIG'];
  const named = flag ?? variable;
  const candidates =
    named !== undefined
      ? [resolve(cwd, named)]
      : [
          join(cwd, 'heddle.yaml'),
          join(xdg(env, 'XDG_CONFIG_HOME', home, '.config'), 'heddle', 'heddle.yaml'),
        ];
  for (const file of candidates) {
    if (named === undefined && isPresent(file)) refuseForeign(file);
    const read = readLinkedFile(file, 1024 * 1024);
    if (!read.ok && read.missing === true && (named === undefined || mayBeMissing)) continue;
    if (!read.ok) {
      const by = flag !== undefined ? '--config' : variable !== undefined ? 'HEDDLE_CONFIG' : undefined;
      const right = by === undefined ? undefined : `It was set by ${by}.`;
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

/** The owner of a file that was found by search must not control what Heddle runs. */
function refuseForeign(file: string): void {
  const distrust = whyUntrusted(file);
  if (distrust === undefined) return;
  const right = `${distrust.right}. To use the file unchanged, specify it with --config '${file}' or HEDDLE_CONFIG.`;
  throw configError([
    { ...errorAt([], `${distrust.path} ${distrust.wrong}`, right), place: { file, line: 1, column: 1 } },
  ]);
}

function configError(problems: ConstructorParameters<typeof ProblemsError>[1]): ProblemsError {
  return new ProblemsError('The configuration cannot be used:', problems);
}

function toProvider({ site, ...provider }: Settings['providers'][string], ownSite: string): ProviderAccount {
  return { ...provider, site: site ?? ownSite };
}

/** Resolves a folder by path, or a package by name, searched from the configuration's folder upwards. */
function findPluginFolder(entry: string, base: string, home: string, place: Place | undefined): string {
  if (/^[./~]/.test(entry)) {
    const folder = toAbsolute(entry, base, home);
    if (existsSync(folder)) return folder;
    const problem = errorAt(
      ['plugins'],
      `the folder ${folder} does not exist`,
      'Create it, or remove the entry.',
    );
    throw configError([{ ...problem, place }]);
  }
  for (let folder = base; ; folder = dirname(folder)) {
    const candidate = join(folder, 'node_modules', entry);
    if (existsSync(candidate) && lstatSync(dirname(candidate)).isDirectory()) return candidate;
    if (folder === dirname(folder)) break;
  }
  const problem = errorAt(
    ['plugins'],
    `package ${entry} is not installed in ${base} or its parent folders`,
    'Install it. A path must begin with ./ or /.',
  );
  throw configError([{ ...problem, place }]);
}

/** Folders of the XDG base directory specification, which requires that relative values are ignored. */
function xdg(env: Environment, variable: string, home: string, fallback: string): string {
  const value = env[variable];
  return value !== undefined && isAbsolute(value) ? value : join(home, fallback);
}

function toAbsolute(path: string, base: string, home: string): string {
  if (path === '~' || path.startsWith('~/')) return join(home, path.slice(1));
  return resolve(base, path);
}

const placeText = ({ file, line }: Place): string => `${file}:${line}`;
