import { join } from 'node:path';
import { bundleWorkflowCode, NativeConnection, Worker } from '@temporalio/worker';
import type { KeyRing } from '../../../src/secrets/keys.js';
import { heddle } from '../../../src/temporal-plugin.js';

export interface Parents {
  readonly taskQueue: string;
  stop(): Promise<void>;
}

/** A worker, in this process, for the workflows of parent-workflows.ts. */
export async function startParents(address: string, namespace: string, keys: KeyRing): Promise<Parents> {
  const taskQueue = 'parents';
  const plugins = [heddle({ keys, namespace })];
  const connection = await NativeConnection.connect({ address });
  const workflowBundle = await bundleWorkflowCode({
    workflowsPath: join(import.meta.dirname, 'parent-workflows.ts'),
    plugins,
    logger: quiet,
  });
  const worker = await Worker.create({ connection, namespace, taskQueue, plugins, workflowBundle });
  const running = worker.run();
  return {
    taskQueue,
    stop: async () => {
      worker.shutdown();
      await running;
      await connection.close();
    },
  };
}

const ignore = () => undefined;
const quiet = { log: ignore, trace: ignore, debug: ignore, info: ignore, warn: ignore, error: ignore };
