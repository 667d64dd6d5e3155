import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { startStack, type Stack, type WorkerProcess } from '../stack.js';
import { clustersOn, type Clusters } from './clusters-on.js';

export interface GroupedClusters extends Clusters {
  readonly stack: Stack;
  /** For what scripts write. */
  readonly folder: string;
  /** Kills the worker, does the work without one, and starts another one. */
  readonly withoutWorker: (work: () => Promise<void>) => Promise<void>;
  /** The lines of a file in the folder; none if it does not exist. */
  readonly linesOf: (file: string) => Promise<readonly string[]>;
}

/** Opens a stack for the tests of a file. Of four nodes of a cluster, two are in a group. */
export function openGroupedClusters(): GroupedClusters {
  let folder = '';
  let stack: Stack | undefined;
  let worker: WorkerProcess | undefined;
  const opened = (): Stack => {
    if (stack === undefined) throw new Error('the stack starts before the first test');
    return stack;
  };
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'heddle-grouped-clusters-'));
    stack = await startStack({ config: { scale: { inlineNodes: 2, groupNodes: 4 } } });
    worker = await stack.startWorker();
  });
  afterAll(async () => {
    await stack?.stop();
    await rm(folder, { recursive: true, force: true });
  });
  return {
    ...clustersOn(opened),
    get stack() {
      return opened();
    },
    get folder() {
      return folder;
    },
    withoutWorker: async (work) => {
      await worker?.kill();
      await work();
      worker = await opened().startWorker();
    },
    linesOf: async (file) => {
      const text = await readFile(join(folder, file), 'utf8').catch(() => '');
      return text.split('\n').filter((line) => line !== '');
    },
  };
}
