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
  /** `cluster web: 3 nodes, 2 services`; absent for a file with errors. */
  readonly content?: string;
}

/** How a checked file is shown; a file with errors ends the command with the exit code of invalid input. */
export const validationShown: Omit<Shown<unknown[], Validation>, 'worker'> = {
  document: ({ file, kind, problems, content }): ValidateDocument => ({
    file,
    kind,
    valid: content !== undefined,
    problems: problems.map(({ severity, path, wrong, right, place }) => ({
      severity,
      line: place?.line,
      column: place?.column,
      path,
      message: wrong,
      remedy: right,
    })),
  }),
  print: (output, { file, problems, content }) => {
    if (content === undefined) return;
    for (const warning of problems) output.note(formatProblem(warning));
    output.line(`${file} is valid: ${content}`);
  },
  error: ({ file, problems, content }) =>
    content === undefined
      ? new CliError('Invalid', new ProblemsError(`${file} cannot be used:`, problems).message)
      : undefined,
};

export function validatePools(file: string): FileReading {
  const reading = loadPoolsFile(file);
  if (!reading.ok) return reading;
  return { problems: [], content: `pools ${reading.pools.map(({ name }) => name).join(', ')}` };
}
