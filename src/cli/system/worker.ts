import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';
import { workerEnvironment } from '../../config/child-environment.js';
import { checkServer } from '../../server/check.js';
import { CliError, exitCodes } from '../errors.js';
import { chooseServer, openKeys, readConfiguration, type ServerOptions } from '../configuration.js';

export const workerProgram = fileURLToPath(new URL('../../worker-main.js', import.meta.url));

/** Runs a worker until it is stopped; its log goes to standard output. */
export function worker(options: ServerOptions): Promise<number> {
  return runWorker(options, []);
}

/** With words of its program. */
export async function runWorker(options: ServerOptions, words: readonly string[]): Promise<number> {
  const config = readConfiguration(options);
  const { address, namespace, dev } = await chooseServer(config, options);
  await checkServer({ ...(dev === undefined ? config.temporal.connection : {}), address });
  openKeys(config);
  // Beside `heddle dev`, what its worker has: the machine service among it.
  const file = options.config ?? dev?.workerConfig ?? config.file;
  const child = spawn(
    process.execPath,
    [workerProgram, ...words, ...(file === undefined ? [] : ['--config', file])],
    {
      stdio: ['ignore', 'inherit', 'inherit'],
      env: workerEnvironment(config.environment, {
        TEMPORAL_ADDRESS: address,
        TEMPORAL_NAMESPACE: namespace,
        ...(options.profile === undefined ? {} : { TEMPORAL_PROFILE: options.profile }),
      }),
      // A session of its own: Ctrl-C reaches it once, from us.
      detached: true,
    },
  );
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
