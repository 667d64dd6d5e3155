import { isEmptyPlan } from '../../model/plan/plan.js';
import type { ClusterSpec } from '../../model/spec.js';
import type { OperationOptions } from '../configuration.js';
import { finish } from './finish.js';
import { describeCounts } from '../plan/words.js';
import { previewApply, showPreview } from '../plan/preview.js';
import { requireWorker, withSession } from '../session.js';

export type ApplyOptions = OperationOptions & { readonly createOnly?: boolean };

/** Brings a cluster to a spec that was read from a file, whose name is for messages. */
export async function apply(written: ClusterSpec, file: string, options: ApplyOptions): Promise<number> {
  return withSession(options, async (session) => {
    const { output, client } = session;
    await requireWorker(session);
    const since = Date.now();
    const { rolling, queue = false, createOnly = false } = options;
    if (options.plan === true) await client.look(written.name);
    // Once, so that what is shown is what is done.
    const spec = await client.resources.pin(written);
    // Plugins and providers are known to the workers alone: whatever they find wrong comes before anything is
    // made.
    const preview = await previewApply(session, spec, file, options);
    if (options.plan === true)
      return showPreview(output, spec.name, { kind: 'apply', width: rolling }, preview);
    if (!isEmptyPlan(preview.plan)) output.line(describeCounts(preview.plan));
    const reply = await client.apply(spec, { createOnly, queue, width: rolling });
    return finish(session, spec.name, reply, { ...options, since });
  });
}
