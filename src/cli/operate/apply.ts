import { isEmptyPlan } from '../../model/plan/plan.js';
import type { ClusterSpec } from '../../model/cluster/spec.js';
import { finish } from '../finish.js';
import type { OperationOptions } from '../options.js';
import { createOutput } from '../output.js';
import { describeCounts } from '../plan/words.js';
import { lookFirst, previewApply, showPreview } from '../plan/preview.js';
import { requireWorker, withSession } from '../session.js';

export type ApplyOptions = OperationOptions & { readonly createOnly?: boolean };

/** Brings a cluster to a spec that was read from a file, whose name is for messages. */
export async function apply(written: ClusterSpec, file: string, options: ApplyOptions): Promise<number> {
  const output = createOutput(options);
  return withSession(options, async (session) => {
    await requireWorker(session);
    const since = Date.now();
    const { rolling, queue = false, createOnly = false } = options;
    if (options.plan === true) await lookFirst(session, written.name);
    // Once, so that what is shown is what is done.
    const spec = await session.client.resources.pin(written);
    // Plugins and providers are known to the workers alone: whatever they find wrong comes before anything is
    // made.
    const preview = await previewApply(session, spec, file, options);
    if (options.plan === true)
      return showPreview(output, spec.name, { kind: 'apply', width: rolling }, preview);
    if (!isEmptyPlan(preview.plan)) output.line(describeCounts(preview.plan));
    const reply = await session.client.apply(spec, { createOnly, queue, width: rolling });
    return finish(session, output, spec.name, reply, { ...options, since });
  });
}
