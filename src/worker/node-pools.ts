import {
  isGrpcServiceError,
  ServiceError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
  type Client,
  type WorkflowHandle,
} from '@temporalio/client';
import { Batch } from '../client/pool/batch.js';
import { listPools } from '../client/list.js';
import { poolWorkflowId } from '../model/names.js';
import type { AllocatedNode } from '../model/pool/allocated.js';
import type { NodeDemand } from '../model/pool/request.js';
import type { RequestView } from '../schema/output/pool.js';
import { PluginError, type NodePools } from '../plugins/contract.js';
import { poolMessages } from '../workflows/messages.js';
import { read } from '../client/read.js';

/** Requests in one message to a pool. */
const perMessage = 100;
/** Shorter than the deadline of the provider's calls: a busy pool is queried again. */
const patienceMs = 6_000;

interface Line {
  readonly asks: Batch<NodeDemand, RequestView>;
  readonly views: Batch<string, RequestView | undefined>;
  readonly ends: Batch<string, true>;
}

/** The workflows of pools. Concurrent requests of this worker to one pool go in one message. */
export function readNodePools(temporal: Client): NodePools {
  const lines = new Map<string, Line>();
  const lineTo = (pool: string): Line => {
    const line = lines.get(pool) ?? openLine(temporal, pool);
    lines.set(pool, line);
    return line;
  };
  return {
    ask: (pool, demand) => lineTo(pool).asks.add(demand),
    request: (pool, id) => lineTo(pool).views.add(id),
    end: async (pool, id) => {
      await lineTo(pool).ends.add(id);
    },
    allocated: (pool) => readDrawn(temporal, pool),
    labels: (pool) =>
      ask(
        temporal,
        pool,
        async (handle) => Object.keys((await read(handle, poolMessages.queries.spec))?.labels ?? {}),
        () => undefined,
      ),
    names: async () => (await listPools(temporal)).map(({ name }) => name),
  };
}

function openLine(temporal: Client, pool: string): Line {
  return {
    asks: new Batch(
      (demands) =>
        ask(
          temporal,
          pool,
          (handle) => handle.executeUpdate(poolMessages.updates.request, { args: [demands] }),
          () => {
            throw new PluginError(
              'Invalid',
              `pool ${pool} does not exist; run 'heddle pool list' to see the existing ones`,
            );
          },
        ),
      perMessage,
    ),
    views: new Batch(async (ids) => {
      const { requests } = await ask(
        temporal,
        pool,
        (handle) => read(handle, poolMessages.queries.requests, { ids }),
        () => ({ requests: [] }),
      );
      return ids.map((id) => requests.find((request) => request.id === id));
    }, perMessage),
    ends: new Batch(async (ids) => {
      await ask(
        temporal,
        pool,
        (handle) => handle.executeUpdate(poolMessages.updates.end, { args: [{ ids, how: 'returned' }] }),
        () => undefined,
      );
      return ids.map(() => true);
    }, perMessage),
  };
}

async function readDrawn(temporal: Client, pool: string): Promise<readonly AllocatedNode[]> {
  const allocated: AllocatedNode[] = [];
  for (let after: string | undefined = ''; after !== undefined;) {
    const from: string = after;
    const page = await ask(
      temporal,
      pool,
      (handle) => read(handle, poolMessages.queries.allocated, from),
      () => ({ nodes: [] }),
    );
    allocated.push(...page.nodes);
    after = 'next' in page ? page.next : undefined;
  }
  return allocated;
}

/** `absent`: the error if the pool does not exist. */
async function ask<Answer, Absence>(
  temporal: Client,
  pool: string,
  make: (handle: WorkflowHandle) => Promise<Answer>,
  absent: () => Absence,
): Promise<Answer | Absence> {
  try {
    return await temporal.withDeadline(Date.now() + patienceMs, () =>
      make(temporal.workflow.getHandle(poolWorkflowId(pool))),
    );
  } catch (cause) {
    if (cause instanceof WorkflowNotFoundError) return absent();
    if (cause instanceof WorkflowUpdateFailedError)
      throw new PluginError('Invalid', cause.cause?.message ?? cause.message, { cause });
    if (!isOfServer(cause)) throw cause;
    throw new PluginError(
      'Retryable',
      `pool ${pool} did not answer (${cause instanceof Error ? cause.message : String(cause)})`,
      { cause },
    );
  }
}

/** It may be busy, or between two runs. */
function isOfServer(error: unknown): boolean {
  return (
    error instanceof ServiceError ||
    error instanceof WorkflowUpdateRPCTimeoutOrCancelledError ||
    isGrpcServiceError(error)
  );
}
