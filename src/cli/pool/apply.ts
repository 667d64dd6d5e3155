import { HeddleError } from '../../client/errors.js';
import { PoolClient } from '../../client/pool/pool-client.js';
import { loadPoolsFile } from '../../schema/pool/read.js';
import { placeProblems, ProblemsError } from '../../schema/problem.js';
import type { ServerOptions } from '../configuration.js';
import { CliError } from '../errors.js';
import { describeError } from '../report-error.js';
import { findProblems } from '../spec-file.js';
import { verb } from '../verb.js';

interface Applied {
  readonly name: string;
  readonly uid: string;
  readonly unchanged: boolean;
}

interface Failed {
  readonly name: string;
  readonly error: unknown;
}

/** Configures the pools of a file, all at once. The whole file is checked before any request is sent. */
export function apply(file: string, options: ServerOptions): Promise<number> {
  const reading = loadPoolsFile(file);
  if (!reading.ok) throw new ProblemsError(`${file} cannot be used:`, reading.problems);
  const applyAll = verb<[ServerOptions], readonly (Applied | Failed)[]>(
    ({ temporal }) =>
      Promise.all(
        reading.pools.map((spec): Promise<Applied | Failed> =>
          new PoolClient(temporal, spec.name).apply(spec).then(
            ({ unchanged, poolUid }) => ({ name: spec.name, uid: poolUid, unchanged }),
            (error: unknown) => ({ name: spec.name, error }),
          ),
        ),
      ),
    {
      worker: true,
      document: (pools) => ({ pools: pools.filter((pool) => !hasFailed(pool)) }),
      table: { head: ['POOL', 'RESULT'], rows: (pools) => pools.map((pool) => [pool.name, resultOf(pool)]) },
      error: (pools) => errorOf(file, reading, pools.filter(hasFailed)),
    },
  );
  return applyAll(options);
}

function hasFailed(pool: Applied | Failed): pool is Failed {
  return 'error' in pool;
}

function resultOf(pool: Applied | Failed): string {
  if (hasFailed(pool)) return 'failed';
  return pool.unchanged ? 'unchanged' : 'configured';
}

/** One error for all pools that failed: what workers found wrong has its place in the file. */
function errorOf(
  file: string,
  { locate }: Extract<ReturnType<typeof loadPoolsFile>, { readonly ok: true }>,
  failed: readonly Failed[],
): CliError | HeddleError | undefined {
  const [first, ...further] = failed;
  if (first === undefined) return undefined;
  const problems = failed.flatMap(({ name, error }) =>
    (findProblems(error) ?? []).map((problem) => ({ ...problem, path: ['pools', name, ...problem.path] })),
  );
  const others = failed.filter(({ error }) => findProblems(error) === undefined);
  if (problems.length === 0 && further.length === 0 && first.error instanceof HeddleError) return first.error;
  const reports = others.map(({ name, error }) => ({ name, ...describeError(error) }));
  const texts = [
    ...(problems.length === 0
      ? []
      : [new ProblemsError(`${file} cannot be used:`, placeProblems(problems, locate)).message]),
    ...reports.map(({ name, message }) => `pool ${name}: ${message}`),
  ];
  return new CliError(reports[0]?.code ?? 'Invalid', texts.join('\n'), {
    next: reports[0]?.next,
    cause: first.error,
  });
}
