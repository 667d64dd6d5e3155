import { parseArgs } from 'node:util';
import { pino } from 'pino';
import { loadConfig } from '../config/index.js';
import { prepareFolder } from '../config/prepare-folder.js';
import { keyRingOf, secretSourcesOf } from './secret-sources.js';
import { startWorker } from './worker.js';

await main();

/** A worker or a builder as a process: runs until SIGTERM or SIGINT; SIGUSR2 logs what it is at. */
async function main(): Promise<void> {
  // What each task does is in the task's own log.
  const log = pino({ level: 'info', base: { pid: process.pid } });
  try {
    const { values } = parseArgs({
      options: { config: { type: 'string' }, builder: { type: 'boolean', default: false } },
    });
    const config = loadConfig({ configFlag: values.config });
    prepareFolder(config.dataFolder);
    const worker = await startWorker({
      config,
      keyRing: keyRingOf(config),
      log,
      secretSources: secretSourcesOf(config),
      ...(values.builder ? { role: 'builder' as const } : {}),
    });
    const stop = (signal: NodeJS.Signals): void => {
      log.info(`${signal}: shuts down`);
      worker.shutdown();
    };
    process.once('SIGTERM', stop).once('SIGINT', stop);
    process.on('SIGUSR2', () => void worker.dumpStacks());
    await worker.done;
    log.info('worker has ended');
  } catch (error) {
    process.stderr.write(
      `The worker did not start. ${error instanceof Error ? error.message : String(error)}\n`,
    );
    log.fatal({ error: error instanceof Error ? error.stack : error }, 'worker failed');
    // The native part of Temporal's SDK would keep the process alive.
    process.exit(1);
  }
}
