import type { ServerOptions } from '../configuration.js';
import { exitCodes } from '../exit-codes.js';
import { printHistory } from './history-text.js';
import { requireCluster } from '../operate/operate.js';
import { createOutput } from '../output.js';
import { withSession } from '../session.js';

/** The operations that a cluster remembers, newest first, with those that run and wait. */
export async function history(name: string, options: ServerOptions): Promise<number> {
  const output = createOutput(options);
  return withSession(options, async (session) => {
    await requireCluster(session, name);
    const status = await session.client.status(name);
    const known = [
      ...status.queued,
      ...(status.operation === undefined ? [] : [status.operation]),
      ...status.history,
    ];
    const operations = known.toSorted((a, b) => Number(b.id) - Number(a.id));
    printHistory(output, operations, Date.now());
    output.document({ cluster: name, clusterUid: status.uid, operations });
    return exitCodes.ok;
  });
}
