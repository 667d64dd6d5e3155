import type { ServerOptions } from '../configuration.js';
import { exitCodes } from '../exit-codes.js';
import { finish } from './finish.js';
import { requireCluster } from './operate.js';
import { previewOperation, showPreview } from '../plan/preview.js';
import { withSession } from '../session.js';

export type DeleteOptions = ServerOptions & { readonly wait: boolean; readonly plan?: boolean };

/** Deletes a cluster, whatever it is doing. Where no worker answers, the request is kept for the next one. */
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
