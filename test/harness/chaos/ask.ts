import { setTimeout as pause } from 'node:timers/promises';
import { HeddleError, type HeddleClient } from '../../../src/client/index.js';
import type { Operation } from '../../../src/model/cluster/operation.js';
import type { ClusterStatus } from '../../../src/schema/output/status.js';

const patience = { everyMs: 250, patienceMs: 120_000 } as const;

/**
 * How long is asked again, in ms: workers and the server are killed meanwhile, and take their time to start.
 */
const longestMs = 300_000;

/**
 * Asks until the cluster has an operation that it did not have before, as a person would whose request got no
 * answer.
 */
export async function askSurely(
  client: HeddleClient,
  name: string,
  make: () => Promise<{ readonly operation?: string }>,
): Promise<string> {
  const before = await lastOperation(client, name);
  let last: unknown;
  for (const end = Date.now() + longestMs; Date.now() < end; await pause(300)) {
    try {
      const { operation } = await make();
      if (operation !== undefined) return operation;
    } catch (error) {
      if (!(error instanceof HeddleError)) throw error;
      last = error;
    }
    const now = await lastOperation(client, name);
    if (now > before) return String(now);
  }
  throw new Error(`${name} took no request`, { cause: last });
}

/** Waits until it has ended or is held; no silence and no passing error ends the wait. */
export async function outlast(
  client: HeddleClient,
  name: string,
  operation: string,
): Promise<{ readonly operation: Operation; readonly status: ClusterStatus }> {
  for (const end = Date.now() + longestMs; ;) {
    try {
      const ended = await client.waitFor(name, operation, patience);
      // With the nodes of its groups, and nothing that was asked for twice still to come.
      return { ...ended, status: await atRest(client, name) };
    } catch (error) {
      if (!(error instanceof HeddleError) || error.code === 'NotFound' || Date.now() > end) throw error;
      await pause(300);
    }
  }
}

/** Reads again while there is nobody to answer. */
export async function readSurely<Value>(read: () => Promise<Value>): Promise<Value> {
  for (const end = Date.now() + longestMs; ;) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof HeddleError) || error.code === 'NotFound' || Date.now() > end) throw error;
      await pause(300);
    }
  }
}

/** A request whose answer was lost may have been made twice: the second operation is waited for, too. */
async function atRest(client: HeddleClient, name: string): Promise<ClusterStatus> {
  for (;;) {
    const status = await readSurely(() => client.status(name));
    if (status.queued.length === 0 && (status.operation === undefined || status.operation.state === 'held'))
      return status;
    await pause(250);
  }
}

/** The number of the last operation; 0 where there is no cluster. */
async function lastOperation(client: HeddleClient, name: string): Promise<number> {
  try {
    const { operation, queued, history } = await readSurely(() => client.summary(name));
    return Math.max(
      0,
      ...[...(operation === undefined ? [] : [operation]), ...queued, ...history].map(({ id }) => Number(id)),
    );
  } catch (error) {
    if (error instanceof HeddleError && error.code === 'NotFound') return 0;
    throw error;
  }
}
