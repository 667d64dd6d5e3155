import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openKeyRing, parseKeyRing } from '../../../src/secrets/keys.js';
import { type Stack, startStack, type StackOptions } from '../stack.js';
import { type Ledger, openLedger } from '../workflows/ledger.js';
import { neutralHistory } from './neutral.js';

const folder = join(import.meta.dirname, '..', '..', 'histories');
const patience = { everyMs: 100 } as const;

export interface Studio {
  readonly stack: Stack;
  readonly ledger: Ledger;
  /** Writes the present history of a workflow under a name, unless there is one already. */
  readonly keep: (name: string, workflowId: string, runId?: string) => Promise<void>;
  /** Resolves to how an operation ended. */
  readonly done: (cluster: string, operation: string | undefined) => Promise<string>;
}

/** A stack of its own, and what keeps histories of it. */
export async function inStudio(
  options: StackOptions,
  record: (studio: Studio) => Promise<void>,
): Promise<void> {
  const stack = await startStack(options);
  try {
    const testKeys = parseKeyRing(await readFile(join(folder, 'test-keys.json'), 'utf8'), 'test-keys.json');
    const recording = {
      keyRing: openKeyRing({ folder: join(stack.folder, 'keys'), create: false }),
      namespace: stack.namespace,
      testKeys,
      folder: stack.folder,
    };
    await stack.startWorker();
    await record({
      stack,
      ledger: openLedger(stack.folder),
      keep: async (name, workflowId, runId) => {
        const history = await stack.client.temporal.workflow.getHandle(workflowId, runId).fetchHistory();
        const text = await neutralHistory(history, recording);
        await writeFile(join(folder, `${name}.json`), text, { flag: 'wx' }).catch((error: unknown) => {
          if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
        });
      },
      done: async (cluster, operation = '') =>
        (await stack.client.waitFor(cluster, operation, patience)).operation.state,
    });
  } finally {
    await stack.stop();
  }
}
