import type { PoolClient } from '../../client/pool/pool-client.js';
import { poolWorkflowId } from '../../model/names.js';
import { readWorkflow } from '../system/server-view.js';
import type { Session } from '../session.js';

/** The last failures of tasks that are being retried, by node. */
export async function failuresOf(
  { temporal }: Session,
  { name }: PoolClient,
): Promise<ReadonlyMap<string, string>> {
  const { activities } = await readWorkflow(temporal, poolWorkflowId(name));
  return new Map(
    activities.flatMap(({ nodeId, attempt, failure }) =>
      nodeId === undefined || failure === undefined || failure.kind === 'NotReady'
        ? []
        : [
            [
              nodeId,
              `${failure.message} (${failure.kind}, attempt ${attempt} follows)${remedySuffix(failure)}`,
            ] as const,
          ],
    ),
  );
}

function remedySuffix({ remedy }: { readonly remedy?: string | undefined }): string {
  return remedy === undefined ? '' : `; ${remedy}`;
}
