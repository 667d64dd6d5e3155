import { devNull, platform } from 'node:os';
import { isAbsolute, join } from 'node:path';
import {
  loadClientConfig,
  loadClientConfigProfile,
  toClientOptions,
  type ClientConfigProfile,
  type ClientConnectConfig,
} from '@temporalio/envconfig';
import { isUnprotected, serverAddressForm, wrongServerAddress } from '../model/endpoint.js';
import { errorAt, ProblemsError, type Place } from '../schema/problem.js';
import { readTextFile, refuseSpecial, wordsForFileError } from '../schema/read-text.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Temporal's own settings: temporal.toml and TEMPORAL_* variables. */
export interface TemporalConfig {
  /** Whether an address is configured; otherwise Heddle may start its own server. */
  readonly configured: boolean;
  readonly address: string;
  readonly namespace: string;
  /** Options for the connection of a client or worker, including the address. */
  readonly connection: ClientConnectConfig['connectionOptions'] & { readonly address: string };
  /** Files of settings and credentials, which give access to the server. */
  readonly files: readonly string[];
}

const maxFileBytes = 1024 * 1024;

/**
 * @throws ProblemsError for settings that Temporal's library cannot read, and for an invalid server address.
 */
export function loadTemporal(env: Environment): TemporalConfig {
  const variables = Object.fromEntries(
    Object.entries(env).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  );
  // The null device disables the file; the library treats an empty file as malformed.
  const disableFile = variables['TEMPORAL_CONFIG_FILE'] === devNull;
  checkVariables(env);
  if (!disableFile) checkNamedFile(variables['TEMPORAL_CONFIG_FILE']);
  const { options, profile } = load(variables, disableFile);
  const { connectionOptions, namespace } = options;
  const { address = '127.0.0.1:7233' } = connectionOptions;
  const wrong = wrongServerAddress(address);
  if (wrong !== undefined)
    throw settingsError(`${addressSource(variables)} ${wrong}`, `The form is ${serverAddressForm}.`);
  // The library enables TLS with an API key, unless TLS is disabled.
  if (
    connectionOptions.apiKey !== undefined &&
    connectionOptions.tls === false &&
    isUnprotected(`http://${address}`)
  )
    throw settingsError(
      `the API key would be sent to ${address} unencrypted, because TLS is disabled`,
      'Remove TEMPORAL_TLS=false, or `disabled = true` in temporal.toml.',
    );
  return {
    configured: connectionOptions.address !== undefined,
    address,
    namespace: namespace ?? 'default',
    connection: { ...connectionOptions, address },
    files: credentialFiles(variables, disableFile, profile),
  };
}

function credentialFiles(
  variables: Readonly<Record<string, string>>,
  disableFile: boolean,
  profile: ClientConfigProfile,
): readonly string[] {
  const profiles = [...(disableFile ? [] : otherProfiles(variables)), profile];
  const keys = profiles.flatMap(({ tls }) =>
    [tls?.clientKey, tls?.clientCert].flatMap((source) =>
      source !== undefined && 'path' in source ? [source.path] : [],
    ),
  );
  const { TEMPORAL_CONFIG_FILE: named } = variables;
  const files = [disableFile ? undefined : named, defaultFile(variables), ...keys];
  return [...new Set(files.filter((file) => file !== undefined))];
}

/**
 * Profiles of other namespaces or servers. Ignores unreadable ones: this process's own profile
 * was read already.
 */
function otherProfiles(variables: Readonly<Record<string, string>>): readonly ClientConfigProfile[] {
  try {
    return Object.values(loadClientConfig({ overrideEnvVars: variables }).profiles);
  } catch {
    return [];
  }
}

/** The default path of Temporal's library; the file may be created while a worker runs. */
function defaultFile({
  HOME: home = '',
  XDG_CONFIG_HOME: xdg = '',
  APPDATA: windows = '',
}: Readonly<Partial<Record<string, string>>>): string | undefined {
  const own = home === '' ? '' : join(home, '.config');
  const folders: Readonly<Partial<Record<NodeJS.Platform, string>>> = {
    win32: windows,
    darwin: home === '' ? '' : join(home, 'Library', 'Application Support'),
  };
  const folder = folders[platform()] ?? (xdg === '' ? own : isAbsolute(xdg) ? xdg : '');
  return folder === '' ? undefined : join(folder, 'temporalio', 'temporal.toml');
}

/** If the file is missing, the library reads another one instead and thereby selects another server. */
function checkNamedFile(file: string | undefined): void {
  if (file === undefined) return;
  const read = readTextFile(file, maxFileBytes);
  if (read.ok) return;
  throw settingsError(
    `cannot read the settings of Temporal: ${read.wrong}`,
    'It was set by TEMPORAL_CONFIG_FILE.',
    { file, line: 1, column: 1 },
  );
}

const named = ['TEMPORAL_ADDRESS', 'TEMPORAL_NAMESPACE', 'TEMPORAL_PROFILE', 'TEMPORAL_CONFIG_FILE'] as const;

/** An empty variable is a mistake, such as an unset variable of a script. */
function checkVariables(env: Environment): void {
  for (const variable of named)
    if (env[variable]?.trim() === '') throw settingsError(`${variable} is empty`, 'Set it, or unset it.');
  // The library treats every other value as false.
  const tls = env['TEMPORAL_TLS'];
  if (tls !== undefined && tls !== '' && !['1', 'true', '0', 'false'].includes(tls))
    throw settingsError(`TEMPORAL_TLS is ${JSON.stringify(tls)}`, 'It must be true or false.');
}

function load(
  variables: Readonly<Record<string, string>>,
  disableFile: boolean,
): { readonly options: ClientConnectConfig; readonly profile: ClientConfigProfile } {
  try {
    const { TEMPORAL_CONFIG_FILE: file = defaultFile(variables) } = variables;
    if (file !== undefined && !disableFile) refuseSpecial(file);
    const profile = loadClientConfigProfile({ overrideEnvVars: variables, disableFile });
    const { clientKey, clientCert, serverCACert } = profile.tls ?? {};
    for (const source of [clientKey, clientCert, serverCACert])
      if (source !== undefined && 'path' in source) refuseSpecial(source.path);
    return { options: toClientOptions(profile), profile };
  } catch (error) {
    throw explain(error, variables);
  }
}

/** Describes an error of the library. */
function explain(error: unknown, variables: Readonly<Record<string, string>>): ProblemsError {
  const file = variables['TEMPORAL_CONFIG_FILE'] ?? 'temporal.toml';
  if (!(error instanceof Error)) return settingsError(String(error));
  if ('line' in error && 'column' in error)
    return settingsError(error.message.split('\n')[0] ?? '', undefined, {
      file,
      line: Number(error.line),
      column: Number(error.column),
    });
  if ('path' in error && typeof error.path === 'string')
    return settingsError(
      `cannot read ${error.path}: ${wordsForFileError(error)}`,
      'TEMPORAL_TLS_ variables or temporal.toml name it.',
    );
  const profile = variables['TEMPORAL_PROFILE'];
  if (profile !== undefined && error.message.startsWith('Profile '))
    return settingsError(
      `${file} has no profile ${JSON.stringify(profile)}`,
      'It was set by --profile or TEMPORAL_PROFILE.',
    );
  return settingsError(
    `Temporal's connection settings cannot be read: ${error.message}`,
    'Check temporal.toml and the TEMPORAL_ variables.',
  );
}

function addressSource(variables: Readonly<Record<string, string>>): string {
  return variables['TEMPORAL_ADDRESS'] === undefined ? 'the address in temporal.toml' : 'TEMPORAL_ADDRESS';
}

function settingsError(wrong: string, right?: string, place?: Place): ProblemsError {
  return new ProblemsError('The configuration cannot be used:', [{ ...errorAt([], wrong, right), place }]);
}
