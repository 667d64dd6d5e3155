import { join } from 'node:path';
import type { Config } from '../../config/index.js';
import { workerEnvironment } from '../../config/child-environment.js';
import { coreQueue } from '../../model/names.js';
import { launch, readLogTail, type Launched } from '../../server/launch.js';
import { keepUp, type KeptUp } from './keep-up.js';
import { waitForPoller, workflowTasks } from './pollers.js';
import { workerProgram } from './worker.js';

export interface DevWorkerOptions {
  readonly config: Config;
  /** What the worker is configured with. */
  readonly configFile: string;
  readonly address: string;
  readonly namespace: string;
  readonly logFolder: string;
  readonly say: (line: string) => void;
  readonly onBack: () => void;
}

const startLimitMs = 60_000;

/** Starts a worker of our server, and again whenever it dies. */
export async function startDevWorker(options: DevWorkerOptions): Promise<KeptUp> {
  const logFile = join(options.logFolder, 'worker.log');
  const again = async (): Promise<Launched> => {
    const child = await launch(process.execPath, [workerProgram, '--config', options.configFile], {
      logFile,
      environment: environmentOf(options),
    });
    try {
      await waitUntilPolling(child, options, logFile);
      return child;
    } catch (error) {
      await child.end();
      throw error;
    }
  };
  return keepUp(await again(), { name: 'worker', logFile, say: options.say, onBack: options.onBack, again });
}

/**
 * The user's own Temporal settings, which may name another server with its certificates, are not meant for
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

/** A worker is ready when the server has seen this very process poll. */
async function waitUntilPolling(
  child: Launched,
  { address, namespace }: DevWorkerOptions,
  logFile: string,
): Promise<void> {
  let gone: string | undefined;
  void child.ended.then((how) => (gone = how));
  const polls = await waitForPoller({
    location: { address },
    namespace,
    queue: coreQueue,
    taskQueueType: workflowTasks,
    pid: child.pid,
    limitMs: startLimitMs,
    isRunning: () => gone === undefined,
  });
  if (polls) return;
  const how =
    gone === undefined ? `did not ask for work within ${startLimitMs / 1_000} s` : `ended with ${gone}`;
  throw new Error(`The worker ${how}. The end of its log (${logFile}):\n${await readLogTail(logFile)}`);
}
