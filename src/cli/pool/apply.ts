import { PoolClient } from '../../client/pools/pool-client.js';
import { loadPoolsFile } from '../../schema/pool/read.js';
import { ProblemsError } from '../../schema/problem.js';
import type { ServerOptions } from '../configuration.js';
import { exitCodes } from '../exit-codes.js';
import { createOutput } from '../output.js';
import { requireWorker, withSession } from '../session.js';

/** Brings pools to their file. The whole file is checked before anything is asked. */
export async function apply(file: string, options: ServerOptions): Promise<number> {
  const reading = loadPoolsFile(file);
  if (!reading.ok) throw new ProblemsError(`${file} cannot be used:`, reading.problems);
  const output = createOutput(options);
  return withSession(options, async (session) => {
    await requireWorker(session);
    const applied: object[] = [];
    for (const spec of reading.pools) {
      const { unchanged, poolUid } = await new PoolClient(session.temporal, spec.name).apply(spec);
      output.line(`pool ${spec.name}: ${unchanged ? 'unchanged' : 'configured'}`);
      applied.push({ name: spec.name, uid: poolUid, unchanged });
    }
    output.document({ pools: applied });
    return exitCodes.ok;
  });
}
