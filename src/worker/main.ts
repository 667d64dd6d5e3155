import { parseArgs } from 'node:util';
import { endWithParent } from '../config/end-with-parent.js';
import { hideEnvironment } from '../config/hide-environment.js';
import { loadConfig } from '../config/index.js';
import { describeProcess } from '../config/process-dump.js';
import { onFirstSignal } from '../config/on-first-signal.js';
import { prepareFolder } from '../config/prepare-folder.js';
import { secretSourcesOf } from '../secrets/reference.js';
import { collectGarbageSooner } from './heap.js';
import { readVersion } from './identity.js';
import { keyRingOf } from './key-ring.js';
import { openLog } from './open-log.js';
import { startWorker } from './worker.js';

await main();

/** A worker or a builder as a process: runs until SIGTERM or SIGINT; SIGUSR2 logs its current work. */
async function main(): Promise<void> {
  hideEnvironment();
  collectGarbageSooner();
  // What each task does is in the task's own log.
  let log = openLog({});
  let what = 'did not start';
  let parentEnded = (): void => process.exit(1);
  endWithParent(() => parentEnded());
  // From the first moment: the signal would end a process that does not handle it.
  let dump = (): void => log.info({ process: describeProcess() }, 'still starting');
  process.on('SIGUSR2', () => dump());
  try {
    const { values } = parseArgs({
      options: { config: { type: 'string' }, builder: { type: 'boolean', default: false } },
    });
    const config = loadConfig({ configFlag: values.config });
    prepareFolder(config.dataFolder);
    log = openLog({ site: config.site, version: readVersion() });
    const worker = await startWorker({
      config,
      keyRing: keyRingOf(config),
      log,
      secretSources: secretSourcesOf(config),
      readConfig: (variables) =>
        loadConfig({ configFlag: values.config, env: { ...config.environment, ...variables } }),
      onConfigured: (outcome) => {
        // `heddle dev` shows it. The channel may close in this moment.
        if (process.connected) process.send?.(outcome, undefined, undefined, () => undefined);
      },
      ...(values.builder ? { role: 'builder' as const } : {}),
    });
    what = 'ended';
    const stop = (why: string): void => {
      log.info(`${why}: shutting down`);
      worker.shutdown();
    };
    parentEnded = () => stop('the process that started it has ended');
    onFirstSignal(['SIGTERM', 'SIGINT'], stop);
    dump = () => void worker.dumpStacks();
    await worker.done;
    log.info('worker has ended');
  } catch (error) {
    process.stderr.write(`The worker ${what}. ${error instanceof Error ? error.message : String(error)}\n`);
    log.fatal({ error }, 'worker failed');
    // The native part of Temporal's SDK would keep the process alive.
    process.exit(1);
  }
}
