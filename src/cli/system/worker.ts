import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';
import { workerEnvironment } from '../../config/child-environment.js';
import { hideEnvironment } from '../../config/hide-environment.js';
import type { Config } from '../../config/index.js';
import type { ServerLocation } from '../../server/check.js';
import { chooseServer, openKeys, readConfiguration, type ServerOptions } from '../configuration.js';
import { reachServer } from '../reach-server.js';
import { CliError, exitCodes } from '../errors.js';
import type { DevRecord } from './dev-record.js';

export const workerProgram = fileURLToPath(new URL('../../worker/main.js', import.meta.url));

/** How to start a worker for the server that the options name. */
export interface WorkerLaunch {
  readonly config: Config;
  readonly location: ServerLocation;
  readonly namespace: string;
  /** The arguments of node. */
  readonly args: readonly string[];
  /** Variables to set for it. */
  readonly variables: Readonly<Record<string, string>>;
}

/** @throws ServerUnreachableError, KeyError */
export async function prepareWorker(options: ServerOptions, words: readonly string[]): Promise<WorkerLaunch> {
  const config = readConfiguration(options);
  const choice = await chooseServer(config, options);
  const { address, namespace, dev } = choice;
  const { location } = await reachServer(config, choice);
  openKeys(config);
  const file = workerConfigFile(config, options, dev);
  return {
    config,
    location,
    namespace,
    args: [workerProgram, ...words, ...(file === undefined ? [] : ['--config', file])],
    variables: {
      TEMPORAL_ADDRESS: address,
      TEMPORAL_NAMESPACE: namespace,
      ...(options.profile === undefined ? {} : { TEMPORAL_PROFILE: options.profile }),
    },
  };
}

/**
 * Beside `heddle dev` the configuration of its worker, which has the machine service, unless
 * another file is named by --config or HEDDLE_CONFIG.
 */
export function workerConfigFile(
  { file, environment }: Pick<Config, 'file' | 'environment'>,
  options: Pick<ServerOptions, 'config'>,
  dev: Pick<DevRecord, 'configFile' | 'workerConfig'> | undefined,
): string | undefined {
  if (options.config !== undefined || dev === undefined) return options.config ?? file;
  // A shell may set it for both.
  const isOther = environment['HEDDLE_CONFIG'] !== undefined && file !== dev.configFile;
  return isOther ? file : dev.workerConfig;
}

/** Runs a worker until it is stopped; its log goes to standard output. */
export function worker(options: ServerOptions): Promise<number> {
  return runWorker(options, []);
}

/** Runs a worker with more arguments; returns its exit code. */
export async function runWorker(options: ServerOptions, words: readonly string[]): Promise<number> {
  hideEnvironment();
  const { config, args, variables } = await prepareWorker(options, words);
  // In its own session it gets Ctrl-C once, from this process.
  const child = spawn(process.execPath, args, {
    // It shuts down when the channel closes: a killed process passes no signal on.
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: workerEnvironment(config.environment, variables),
    detached: true,
  });
  const pass = (signal: NodeJS.Signals): boolean => child.kill(signal);
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'] as const;
  for (const signal of signals) process.on(signal, pass);
  const endWithUs = (): boolean => child.kill('SIGTERM');
  process.once('exit', endWithUs);
  try {
    return await new Promise<number>((resolve, reject) => {
      child.once('error', (cause) =>
        reject(new CliError('Failed', `the worker cannot be started: ${cause.message}`, { cause })),
      );
      child.once('exit', (code, signal) =>
        resolve(code ?? (signal === null ? exitCodes.failed : 128 + constants.signals[signal])),
      );
    });
  } finally {
    for (const signal of signals) process.off(signal, pass);
    process.off('exit', endWithUs);
  }
}
