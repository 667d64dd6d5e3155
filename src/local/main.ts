import { rm } from 'node:fs/promises';
import { apiKeyFile } from './api-key.js';
import { messageOf } from './errors.js';
import { pino } from 'pino';
import { parseOptions, usage, type Options } from './options.js';
import { startService } from './service.js';

await main(process.argv.slice(2));

/** Runs until SIGTERM or SIGINT. Once the API answers, prints its address as one line of JSON. */
async function main(args: readonly string[]): Promise<void> {
  const options = readOptions(args);
  if (options === undefined) return;
  // stdout is kept for the line with the address.
  const log = pino(
    {
      base: { name: 'heddle.local' },
      level: options.logLevel,
      messageKey: 'message',
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }) },
    },
    pino.destination({ fd: 2, sync: true }),
  );
  try {
    const service = await startService(options, log);
    const stop = (signal: NodeJS.Signals): void => {
      log.info(`${signal}: the machines lose their power`);
      const removed = service
        .stop()
        .then(() => (options.isTemporary ? removeFolder(options.dataFolder) : undefined));
      removed.then(
        () => process.exit(0),
        (error: unknown) => {
          log.error(`the service could not stop cleanly: ${messageOf(error)}`);
          process.exit(1);
        },
      );
    };
    for (const name of ['SIGTERM', 'SIGINT'] as const) {
      const onSignal = (): void => {
        // Not by `once`: while a file is written, signal-exit ends the process if no other listener is left.
        setImmediate(() => process.off(name, onSignal));
        stop(name);
      };
      process.on(name, onSignal);
    }
    // Only a parent with an IPC channel wants this.
    process.once('disconnect', () => stop('SIGTERM')).channel?.unref();
    // It was killed while this program started.
    if (process.connected === false) stop('SIGTERM');
    process.on('SIGUSR2', () => service.dump());
    log.info({ ...service.about }, `machine service at ${service.about.endpoint}`);
    process.stdout.write(
      `${JSON.stringify({ ...service.about, apiKeyFile: apiKeyFile(options.dataFolder), pid: process.pid })}\n`,
    );
  } catch (error) {
    process.stderr.write(`The machine service did not start. ${messageOf(error)}\n`);
    process.exitCode = 1;
  }
}

function removeFolder(folder: string): Promise<void> {
  return rm(folder, { recursive: true, force: true, maxRetries: 3 });
}

function readOptions(args: readonly string[]): Options | undefined {
  if (args.includes('--help')) {
    process.stdout.write(`${usage}\n`);
    return undefined;
  }
  try {
    return parseOptions(args);
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n${usage}\n`);
    process.exitCode = 2;
    return undefined;
  }
}
