import { PoolClient } from '../../client/pool/pool-client.js';
import { loadPoolsFile } from '../../schema/pool/read.js';
import { placeProblems, ProblemsError } from '../../schema/problem.js';
import type { ServerOptions } from '../configuration.js';
import { findProblems } from '../spec-file.js';
import { verb } from '../verb.js';

/** Configures the pools of a file. The whole file is checked before any request is sent. */
export function apply(file: string, options: ServerOptions): Promise<number> {
  const reading = loadPoolsFile(file);
  if (!reading.ok) throw new ProblemsError(`${file} cannot be used:`, reading.problems);
  const applyAll = verb<[ServerOptions], object[]>(
    async ({ temporal, output }) => {
      const applied: object[] = [];
      for (const spec of reading.pools) {
        const { unchanged, poolUid } = await new PoolClient(temporal, spec.name)
          .apply(spec)
          .catch((error: unknown) => {
            const problems = findProblems(error);
            if (problems === undefined) throw error;
            const inFile = problems.map((problem) => ({
              ...problem,
              path: ['pools', spec.name, ...problem.path],
            }));
            throw new ProblemsError(`${file} cannot be used:`, placeProblems(inFile, reading.locate));
          });
        output.line(`pool ${spec.name}: ${unchanged ? 'unchanged' : 'configured'}`);
        applied.push({ name: spec.name, uid: poolUid, unchanged });
      }
      return applied;
    },
    { worker: true, document: (pools) => ({ pools }) },
  );
  return applyAll(options);
}
