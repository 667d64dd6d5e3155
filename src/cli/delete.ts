import { finish, type WaitFlag } from './apply.js';
import type { ServerOptions } from './configuration.js';
import { exitCodes } from './exit-codes.js';
import { createOutput } from './output.js';
import { withSession } from './session.js';

/** Deletes a cluster, whatever it is doing. Where no worker answers, the request is kept for the next one. */
export async function deleteCluster(name: string, options: ServerOptions & WaitFlag): Promise<number> {
  const output = createOutput(options);
  return withSession(options, async (session) => {
    const since = Date.now();
    const { operation, clusterUid, ...rest } = await session.client.delete(name);
    if (operation !== undefined && clusterUid !== undefined) {
      return finish(session, output, name, { operation, clusterUid, ...rest }, { ...options, since });
    }
    const message = `no worker answers; the request to delete ${name} is kept, and the next worker carries it out`;
    output.line(message);
    output.line('next: heddle worker');
    output.document({ cluster: name, kept: true, error: { code: 'NoWorker', message, next: 'heddle worker' } });
    return exitCodes.unavailable;
  });
}
