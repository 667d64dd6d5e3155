import { join } from 'node:path';
import type { Config } from '../../config/index.js';
import { workerEnvironment } from '../../config/child-environment.js';
import { workflowQueue } from '../../model/names.js';
import { launch } from '../../server/launch.js';
import type { ConfigOutcome } from '../../worker/follow-config.js';
import { keepUp, startLimitMs, type KeptUp, type Upkeep } from './keep-up.js';
import { waitForPoller } from './pollers.js';
import { workerProgram } from './worker.js';

interface DevWorkerOptions extends Upkeep {
  readonly config: Config;
  /** What the worker is configured with. */
  readonly configFile: string;
  readonly address: string;
  readonly namespace: string;
  /** Called when the worker applied a changed configuration, or refused it. */
  readonly onConfigured: (outcome: ConfigOutcome) => void;
}

/** Starts a worker of our server, and restarts it whenever it dies. */
export function startDevWorker(options: DevWorkerOptions): Promise<KeptUp> {
  const { address, namespace, configFile, logFolder, say, onBack, onConfigured } = options;
  const logFile = join(logFolder, 'worker.log');
  const environment = environmentOf(options);
  return keepUp({
    name: 'worker',
    logFile,
    say,
    onBack,
    launch: () =>
      launch(process.execPath, [workerProgram, '--config', configFile], {
        logFile,
        environment,
        onMessage: (message) => {
          if (isConfigOutcome(message)) onConfigured(message);
        },
      }),
    // The server must have seen this very process poll.
    isReady: ({ pid }, isRunning) =>
      waitForPoller({
        location: { address },
        namespace,
        queue: workflowQueue,
        tasks: 'workflows',
        pid,
        limitMs: startLimitMs,
        isRunning,
      }),
  });
}

/** Libraries of the worker may send messages, too. */
function isConfigOutcome(message: unknown): message is ConfigOutcome {
  if (typeof message !== 'object' || message === null || !('became' in message)) return false;
  if (message.became === 'applied') return true;
  const isUnapplied = message.became === 'refused' || message.became === 'failed';
  return isUnapplied && 'why' in message && typeof message.why === 'string';
}

/**
 * The user's own Temporal settings, which may name another server with its certificates, do not apply to
 * ours.
 */
function environmentOf({ config, address, namespace }: DevWorkerOptions): Readonly<Record<string, string>> {
  const others = Object.fromEntries(
    Object.entries(config.environment).filter(([name]) => !name.startsWith('TEMPORAL_')),
  );
  return workerEnvironment(others, {
    TEMPORAL_CONFIG_FILE: '/dev/null',
    TEMPORAL_ADDRESS: address,
    TEMPORAL_NAMESPACE: namespace,
  });
}
