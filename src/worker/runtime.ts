import { Runtime, type RuntimeOptions } from '@temporalio/worker';
import type { Logger } from 'pino';
import { unreadHistory } from '../model/unread-history.js';

/**
 * Sends the SDK's log to ours and serves metrics at `metricsAddress`. An occupied port only causes a warning.
 */
export function installRuntime(log: Logger, metricsAddress: string | undefined): void {
  try {
    Runtime.install(optionsOf(log, metricsAddress));
  } catch (error) {
    if (metricsAddress === undefined || !(error instanceof Error)) throw error;
    log.warn({ metricsAddress }, `metrics cannot be read there, so the worker has none: ${error.message}`);
    Runtime.install(optionsOf(log, undefined));
  }
}

function optionsOf(log: Logger, metricsAddress: string | undefined): RuntimeOptions {
  const write =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (message: string, meta?: object): void => {
      if (!isExpected(message, meta)) log[level]({ ...meta }, message);
    };
  return {
    logger: {
      // The SDK's debug level logs every workflow task.
      trace: () => undefined,
      debug: () => undefined,
      info: write('info'),
      warn: write('warn'),
      error: write('error'),
      log: (level, message, meta) => {
        const levels = { INFO: 'info', WARN: 'warn', ERROR: 'error' } as const;
        if (level !== 'TRACE' && level !== 'DEBUG') write(levels[level])(message, meta);
      },
    },
    telemetryOptions: {
      logging: { filter: { core: 'WARN', other: 'ERROR' }, forward: {} },
      metrics: metricsAddress === undefined ? undefined : { prometheus: { bindAddress: metricsAddress } },
    },
    shutdownSignals: [],
  };
}

/** Most queues are for one kind of tasks alone; the SDK warns of each. */
const oneKind = /^No (workflows|activities|Nexus services) registered, not polling/;

/** Whether an entry of the SDK's log is about what Heddle does on purpose. */
function isExpected(message: string, { error }: { readonly error?: unknown } = {}): boolean {
  // The client repeats a query that `src/workflows/no-early-query.ts` refused.
  return oneKind.test(message) || (error instanceof Error && error.message === unreadHistory.message);
}
