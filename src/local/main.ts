import { rm } from 'node:fs/promises';
import { endWithParent } from '../config/end-with-parent.js';
import { onFirstSignal } from '../config/on-first-signal.js';
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
  const service = await startService(options, log).catch((error: unknown) => {
    process.stderr.write(`The machine service did not start. ${messageOf(error)}\n`);
    process.exitCode = 1;
  });
  if (service === undefined) return;
  const end = new Promise<string>((resolve) => {
    onFirstSignal(['SIGTERM', 'SIGINT'], resolve);
    endWithParent(() => resolve('the process that started it has ended'));
  });
  process.on('SIGUSR2', () => service.dump());
  log.info({ ...service.about }, `machine service at ${service.about.endpoint}`);
  process.stdout.write(
    `${JSON.stringify({ ...service.about, apiKeyFile: apiKeyFile(options.dataFolder), pid: process.pid })}\n`,
  );
  log.info(`${await end}: the machines lose their power`);
  try {
    await service.stop();
    if (options.isTemporary) await rm(options.dataFolder, { recursive: true, force: true, maxRetries: 3 });
    process.exit(0);
  } catch (error) {
    log.error(`the service could not stop cleanly: ${messageOf(error)}`);
    process.exit(1);
  }
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
