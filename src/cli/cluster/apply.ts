import { isEmptyPlan } from '../../model/plan/plan.js';
import type { ClusterSpec } from '../../model/cluster/spec.js';
import type { OperationOptions, ServerOptions } from '../configuration.js';
import { exitCodes } from '../errors.js';
import { requireWorker, withSession } from '../session.js';
import { finish } from './finish.js';
import { requireCluster } from './operate.js';
import { describeCounts } from './plan/plan-text.js';
import { previewApply, previewOperation, showPreview } from './plan/preview.js';

export type ApplyOptions = OperationOptions & { readonly createOnly?: boolean };

/** Brings a cluster to a spec that was read from a file, whose name is for messages. */
export async function apply(written: ClusterSpec, file: string, options: ApplyOptions): Promise<number> {
  return withSession(options, async (session) => {
    const { output, client } = session;
    await requireWorker(session);
    const since = Date.now();
    const { rolling, queue = false, createOnly = false } = options;
    if (options.plan === true) await client.look(written.name);
    // Read once, so that the shown plan is the applied one.
    const spec = await client.resources.pin(written);
    // Only workers know plugins and providers, so their problems are reported before anything is created.
    const preview = await previewApply(session, spec, file, options);
    if (options.plan === true)
      return showPreview(output, spec.name, { kind: 'apply', width: rolling }, preview);
    if (!isEmptyPlan(preview.plan)) output.line(describeCounts(preview.plan));
    const reply = await client.apply(spec, { createOnly, queue, width: rolling });
    return finish(session, spec.name, reply, { ...options, since });
  });
}

export type DeleteOptions = ServerOptions & { readonly wait: boolean; readonly plan?: boolean };

/** Deletes a cluster in any state. Without a worker, the request is kept for the next one. */
export async function deleteCluster(name: string, options: DeleteOptions): Promise<number> {
  return withSession(options, async (session) => {
    const { output } = session;
    if (options.plan === true) {
      await requireCluster(session, name);
      return showPreview(
        output,
        name,
        { kind: 'delete' },
        await previewOperation(session, name, { kind: 'delete' }),
      );
    }
    const since = Date.now();
    const { operation, clusterUid, ...rest } = await session.client.delete(name);
    if (operation !== undefined && clusterUid !== undefined) {
      return finish(session, name, { operation, clusterUid, ...rest }, { ...options, since });
    }
    const message = `no worker answers; the request to delete ${name} is kept, and the next worker carries it out`;
    output.line(message);
    output.line('next: heddle worker');
    output.document({
      cluster: name,
      kept: true,
      error: { code: 'NoWorker', message, next: 'heddle worker' },
    });
    return exitCodes.unavailable;
  });
}
