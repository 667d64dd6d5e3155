import { randomUUID } from 'node:crypto';
import type { Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { registerSearchAttributes } from '../../src/server/setup.js';
import { until } from './until.js';

/**
 * A new namespace with Heddle's search attributes; the parts of the server hear of it one after the other.
 */
export async function makeNamespace(connection: Connection, prefix: string): Promise<string> {
  const namespace = `${prefix}-${randomUUID()}`;
  await connection.workflowService.registerNamespace({
    namespace,
    workflowExecutionRetentionPeriod: msToTs('1 day'),
  });
  await until(
    `namespace ${namespace} is usable`,
    async () => (await registerSearchAttributes(connection, namespace)).missing.length === 0,
  );
  return namespace;
}
