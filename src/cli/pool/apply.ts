import { PoolClient } from '../../client/pool/pool-client.js';
import { loadPoolsFile } from '../../schema/pool/read.js';
import { placeProblems, ProblemsError } from '../../schema/problem.js';
import type { ServerOptions } from '../configuration.js';
import { exitCodes } from '../exit-codes.js';
import { createOutput } from '../output.js';
import { requireWorker, withSession } from '../session.js';
import { findProblems } from '../spec-file.js';

/** Brings pools to their file. The whole file is checked before anything is asked. */
export async function apply(file: string, options: ServerOptions): Promise<number> {
  const reading = loadPoolsFile(file);
  if (!reading.ok) throw new ProblemsError(`${file} cannot be used:`, reading.problems);
  const output = createOutput(options);
  return withSession(options, async (session) => {
    await requireWorker(session);
    const applied: object[] = [];
    for (const spec of reading.pools) {
      const { unchanged, poolUid } = await new PoolClient(session.temporal, spec.name)
        .apply(spec)
        .catch((error: unknown) => {
          const problems = findProblems(error)?.map((problem) => ({
            ...problem,
            path: ['pools', spec.name, ...problem.path],
          }));
          throw problems === undefined
            ? error
            : new ProblemsError(`${file} cannot be used:`, placeProblems(problems, reading.locate));
        });
      output.line(`pool ${spec.name}: ${unchanged ? 'unchanged' : 'configured'}`);
      applied.push({ name: spec.name, uid: poolUid, unchanged });
    }
    output.document({ pools: applied });
    return exitCodes.ok;
  });
}
