import { resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Config } from '../config/index.js';
import { watchFile } from '../config/watch-file.js';
import type { QueueOptions, RunningQueues } from './running-queues.js';

/** Pause before queues are started again, in ms. */
const againMs = 2_000;

/** Reads heddle.yaml once more; these variables go over those of the environment. @throws ProblemsError */
export type ReadConfig = (variables?: Readonly<Record<string, string>>) => Config;

interface ConfigChange {
  /** Of all queues, with the new limits. */
  readonly workers: readonly QueueOptions[];
  /** Settings that changed and need a restart. */
  readonly restart: readonly string[];
  /** From now on attempts begin with the new configuration. */
  apply(): Promise<void>;
}

/** What became of a changed heddle.yaml. */
export type ConfigOutcome =
  | { readonly became: 'applied' }
  /** `refused`: nothing changed. `failed`: it may be applied in part. */
  | { readonly became: 'refused' | 'failed'; readonly why: string };

/** Activities whose configuration can be replaced. */
export interface Reloadable {
  /**
   * Checks a changed configuration, as it reads for a worker of this site and as it is written;
   * nothing changes before `apply`. @throws ProblemsError
   */
  reload(next: Config, written: Config): ConfigChange;
  /** Shows in this worker's identity that a changed configuration was refused. */
  refuse(): void;
}

/**
 * Applies a changed heddle.yaml: as a whole or, if anything in it is wrong, not at all. Running
 * tasks keep the configuration with which they began. @returns a function that stops this.
 */
export function followConfig(
  { file = resolve('heddle.yaml'), site }: Pick<Config, 'file' | 'site'>,
  readConfig: ReadConfig,
  prepared: Reloadable,
  queues: RunningQueues,
  log: Pick<Logger, 'info' | 'warn' | 'error'>,
  report: (outcome: ConfigOutcome) => void = () => undefined,
): () => void {
  const refuse = async (why: string): Promise<void> => {
    prepared.refuse();
    report({ became: 'refused', why });
    log.error(`${file} changed and is not applied; the previous configuration stays in effect. ${why}`);
  };
  const reload = async (): Promise<void> => {
    let change;
    try {
      // Accounts without a site are of the worker's own, which stays.
      change = prepared.reload(readConfig({ HEDDLE_SITE: site }), readConfig());
    } catch (error) {
      return refuse(messageOf(error));
    }
    // Tasks of a removed account must not begin without it.
    await queues.stopOthers(change.workers);
    if (queues.isEnding()) return;
    await change.apply();
    await startAll(change.workers);
    log.info({ queues: queues.names() }, `${file} changed and is applied`);
    report({ became: 'applied' });
    if (change.restart.length > 0)
      log.warn(
        `${file}: these settings changed and need a restart of this worker: ${change.restart.join(', ')}`,
      );
  };
  /** The server may be unavailable. */
  const startAll = async (workers: ConfigChange['workers']): Promise<void> => {
    while (!queues.isEnding()) {
      try {
        return await queues.startMissing(workers);
      } catch (error) {
        log.warn({ error }, 'not all queues could be polled; retrying');
        await pause(againMs);
      }
    }
  };
  return watchFile(file, (missing) =>
    (missing === undefined ? reload() : refuse(missing)).catch((error: unknown) => {
      report({ became: 'failed', why: messageOf(error) });
      log.error({ error }, `${file} changed and could not be applied; restart this worker`);
    }),
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
