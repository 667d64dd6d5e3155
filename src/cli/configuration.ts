import { refuseOpenFolder } from '../config/prepare-folder.js';
import { loadConfig, type Config } from '../config/index.js';
import { parseKeyRing, openKeyRing, type KeyRing } from '../secrets/keys.js';
import type { ServerLocation } from '../server/check.js';
import { CliError } from './errors.js';
import { findDev, type DevRecord } from './system/dev-record.js';

/** Options that verbs share; a verb has those that apply to it. */
export interface CommonOptions {
  readonly json?: boolean;
  /** Path of a heddle.yaml. */
  readonly config?: string;
}

export interface ServerOptions extends CommonOptions {
  /** host:port. */
  readonly address?: string;
  readonly namespace?: string;
  /** A profile of Temporal's own configuration. */
  readonly profile?: string;
}

/** Whether, and how long, a command waits for what it has requested. */
export interface WaitOptions {
  readonly wait: boolean;
  /** In ms. Default: no limit. */
  readonly timeout?: number | undefined;
}

/** Options of every operation of a cluster. */
export interface OperationOptions extends ServerOptions, WaitOptions {
  readonly queue?: boolean;
  /** Preview only. */
  readonly plan?: boolean;
  /** All steps of the plan. */
  readonly verbose?: boolean;
  /** How many nodes at a time. */
  readonly rolling?: number;
  readonly nodes?: readonly string[];
}

/** What an apply is limited to. */
export interface ScopeOptions {
  readonly nodes?: readonly string[];
  readonly services?: readonly string[];
}

/** The server's address, and the setting it comes from. */
export interface ServerChoice {
  readonly address: string;
  readonly namespace: string;
  readonly from: 'flag' | 'configuration' | 'dev' | 'default';
  readonly dev?: DevRecord;
}

/** @throws ProblemsError with the place of everything that is wrong. */
export function readConfiguration(options: ServerOptions): Config {
  const config = loadConfig({ configFlag: options.config });
  if (options.profile === undefined) return config;
  return loadConfig({
    configFlag: options.config,
    env: { ...config.environment, TEMPORAL_PROFILE: options.profile },
  });
}

/**
 * A flag goes over Temporal's own configuration, that over a `heddle dev` that runs on the same data folder.
 * When they name the server of that `heddle dev`, its worker's configuration applies.
 * @throws CliError Invalid for settings of another server, if they have no address.
 */
export async function chooseServer(config: Config, options: ServerOptions): Promise<ServerChoice> {
  const { temporal } = config;
  const namespace = options.namespace ?? temporal.namespace;
  const dev = await findDev(config.dataFolder);
  const named = options.address ?? (temporal.configured ? temporal.address : undefined);
  if (named !== undefined) {
    return {
      address: named,
      namespace,
      from: options.address === undefined ? 'configuration' : 'flag',
      dev: dev !== undefined && isSameAddress(named, dev.address) ? dev : undefined,
    };
  }
  if (dev !== undefined) {
    refuseCredentials(temporal, dev);
    return { address: dev.address, namespace, from: 'dev', dev };
  }
  return { address: temporal.address, namespace, from: 'default' };
}

/**
 * `heddle dev` needs no TLS and no API key: whoever sets them means another server, and forgot its address.
 */
function refuseCredentials(
  { connection: { tls, apiKey } }: Config['temporal'],
  { address }: DevRecord,
): void {
  const set = [
    ...(tls === undefined || tls === null || tls === false || apiKey !== undefined ? [] : ['TLS']),
    ...(apiKey === undefined ? [] : ['an API key']),
  ].join(' and ');
  if (set === '') return;
  throw new CliError(
    'Invalid',
    `${set} is set for Temporal, but no address, and heddle dev, which runs at ${address}, uses neither TLS nor API keys. ` +
      'Set TEMPORAL_ADDRESS to the server to use, or unset TEMPORAL_TLS… and TEMPORAL_API_KEY, or tls and api_key in temporal.toml',
    { next: `heddle list --address ${address}` },
  );
}

/** How to reach a server. Temporal's own configuration, such as its TLS, does not apply to `heddle dev`. */
export function locationOf(
  { temporal }: Config,
  { address, dev }: Pick<ServerChoice, 'address' | 'dev'>,
): ServerLocation {
  return { ...(dev === undefined ? temporal.connection : {}), address };
}

/** Both names mean this machine. */
export function isSameAddress(one: string, other: string): boolean {
  return one.replace(/^localhost:/, '127.0.0.1:') === other.replace(/^localhost:/, '127.0.0.1:');
}

/**
 * Keys of HEDDLE_KEYS need no folder.
 * @throws KeyError that says what to do if there are no keys, ProblemsError if others may read
 * the data folder with them.
 */
export function openKeys(config: Config): KeyRing {
  if (config.exportedKeys !== undefined) return parseKeyRing(config.exportedKeys, 'HEDDLE_KEYS');
  refuseOpenFolder(config.dataFolder);
  return openKeyRing({ folder: config.keys.folder, create: false });
}
