import { devNull } from 'node:os';
import { loadClientConnectConfig, type ClientConnectConfig } from '@temporalio/envconfig';
import { errorAt, ProblemsError } from '../schema/problem.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Temporal's own settings: temporal.toml and TEMPORAL_* variables. */
export interface TemporalConfig {
  /** Whether an address is configured; otherwise Heddle may start its own server. */
  readonly configured: boolean;
  readonly address: string;
  readonly namespace: string;
  /** For a client's or worker's connection; the address is in it. */
  readonly connection: ClientConnectConfig['connectionOptions'] & { readonly address: string };
}

/** @throws ProblemsError where Temporal's own library cannot read them. */
export function loadTemporal(env: Environment): TemporalConfig {
  const variables = Object.fromEntries(
    Object.entries(env).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  );
  let loaded: ClientConnectConfig;
  try {
    // The null device says that no file is to be read; the library takes an empty file for a broken one.
    const disableFile = env['TEMPORAL_CONFIG_FILE'] === devNull;
    loaded = loadClientConnectConfig({ overrideEnvVars: variables, disableFile });
  } catch (error) {
    const wrong = `Temporal's connection settings cannot be read: ${error instanceof Error ? error.message : String(error)}`;
    throw new ProblemsError('The configuration cannot be used:', [
      errorAt([], wrong, 'Look at temporal.toml and at the TEMPORAL_ variables.'),
    ]);
  }
  const { connectionOptions, namespace } = loaded;
  const address = connectionOptions.address ?? '127.0.0.1:7233';
  return {
    configured: connectionOptions.address !== undefined,
    address,
    namespace: namespace ?? 'default',
    connection: { ...connectionOptions, address },
  };
}
