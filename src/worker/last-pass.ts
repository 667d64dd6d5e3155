import { hostname } from 'node:os';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Client, isGrpcServiceError } from '@temporalio/client';
import { optionalTsToMs } from '@temporalio/common/lib/time.js';
import writeFileAtomic from 'write-file-atomic';
import type { LastPass, PassOfSweep } from '../activities/sweep/last-pass.js';
import { grpcStatus } from '../model/grpc-status.js';

const patienceMs = 10_000;

/**
 * The last pass of the sweep that this worker took part in, in a file of its data folder. A server that has
 * lost it within its retention was restored from a backup that is older.
 */
export function keepLastPass(temporal: Client, dataFolder: string, installation: string): LastPass {
  const file = join(dataFolder, `sweep-${installation}.json`);
  return {
    async missing(resumedAt) {
      const pass = await readPass(file);
      if (pass === undefined || (resumedAt !== undefined && resumedAt >= pass.at)) return undefined;
      const isKept = Date.now() - Date.parse(pass.at) < (await retentionMs(temporal));
      return isKept && !(await hasRun(temporal, pass)) ? { at: pass.at, worker: hostname() } : undefined;
    },
    record: (pass) => writeFileAtomic(file, JSON.stringify(pass), { mode: 0o600 }),
  };
}

/** Undefined also for a file that cannot be read: it proves nothing. */
async function readPass(file: string): Promise<PassOfSweep | undefined> {
  try {
    const { workflowId, runId, at } = JSON.parse(await readFile(file, 'utf8')) as Partial<PassOfSweep>;
    const isWhole = typeof workflowId === 'string' && typeof runId === 'string' && typeof at === 'string';
    return isWhole ? { workflowId, runId, at } : undefined;
  } catch {
    return undefined;
  }
}

/** How long the server keeps a run after its end. */
async function retentionMs(temporal: Client): Promise<number> {
  const { namespace } = temporal.options;
  const { config } = await temporal.withDeadline(Date.now() + patienceMs, () =>
    temporal.workflowService.describeNamespace({ namespace }),
  );
  const { seconds, nanos } = config?.workflowExecutionRetentionTtl ?? {};
  return optionalTsToMs({ seconds, nanos }) ?? 0;
}

async function hasRun(temporal: Client, { workflowId, runId }: PassOfSweep): Promise<boolean> {
  const { namespace } = temporal.options;
  try {
    await temporal.withDeadline(Date.now() + patienceMs, () =>
      temporal.workflowService.describeWorkflowExecution({ namespace, execution: { workflowId, runId } }),
    );
    return true;
  } catch (error) {
    if (isGrpcServiceError(error) && Number(error.code) === grpcStatus.notFound) return false;
    throw error;
  }
}
