import type { ValidateDocument } from '../schema/output/documents.js';
import { loadPoolsFile } from '../schema/pool/read.js';
import { formatProblem, ProblemsError, type Problem } from '../schema/problem.js';
import { CliError } from './errors.js';
import type { Shown } from './verb.js';

/** What the check of a file found. */
export interface Validation extends FileReading {
  readonly file: string;
  readonly kind: ValidateDocument['kind'];
}

export interface FileReading {
  readonly problems: readonly Problem[];
  /** After the file's name: `is valid: cluster web: 3 nodes, 2 services`; absent for a file with errors. */
  readonly verdict?: string;
}

/** How a checked file is shown; a file with errors ends the command with the exit code of invalid input. */
export const validationShown: Omit<Shown<unknown[], Validation>, 'worker'> = {
  document: ({ file, kind, problems, verdict }): ValidateDocument => ({
    file,
    kind,
    valid: verdict !== undefined,
    problems: problems.map(({ severity, path, wrong, right, place }) => ({
      severity,
      line: place?.line,
      column: place?.column,
      path,
      message: wrong,
      remedy: right,
    })),
  }),
  print: (output, { file, problems, verdict }) => {
    if (verdict === undefined) return;
    for (const warning of problems) output.note(formatProblem(warning));
    output.line(`${file} ${verdict}`);
  },
  error: ({ file, problems, verdict }) =>
    verdict === undefined
      ? new CliError('Invalid', new ProblemsError(`${file} cannot be used:`, problems).message)
      : undefined,
};

export function validatePools(file: string): FileReading {
  const reading = loadPoolsFile(file);
  if (!reading.ok) return reading;
  return { problems: [], verdict: `is valid: pools ${reading.pools.map(({ name }) => name).join(', ')}` };
}
