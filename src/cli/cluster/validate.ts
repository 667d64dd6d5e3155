import { loadImageFile } from '../../schema/image/read.js';
import { openSpecFile } from '../../schema/cluster/read.js';
import type { ValidateDocument } from '../../schema/output/documents.js';
import { loadPoolsFile } from '../../schema/pool/read.js';
import { formatProblem, ProblemsError, type Problem } from '../../schema/problem.js';
import { readTextFile } from '../../schema/read-text.js';
import { readYamlFile } from '../../schema/yaml-source.js';
import { CliError } from '../errors.js';
import type { CommonOptions } from '../configuration.js';
import { formatCount } from '../format.js';
import { givenVariables, type VariableOptions } from '../given-variables.js';
import { localVerb } from '../verb.js';

type FileKind = ValidateDocument['kind'];

interface Validated {
  readonly file: string;
  readonly kind: FileKind;
  readonly problems: readonly Problem[];
  /** `cluster web: 3 nodes, 2 services`; absent for a file with errors. */
  readonly content?: string;
}

/** Checks a file without a server. Workers check the rest: fields of plugins, accounts, secrets. */
export const validate = localVerb(
  async (file: string, options: CommonOptions & VariableOptions): Promise<Validated> => {
    const kind = kindOf(file);
    return { file, kind, ...(await readers[kind](file, options)) };
  },
  {
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
  },
);

type Reading = Pick<Validated, 'problems' | 'content'>;

const readers: Readonly<
  Record<FileKind, (file: string, options: VariableOptions) => Reading | Promise<Reading>>
> = {
  cluster: async (file, options) => {
    const opened = openSpecFile(file);
    const reading = opened.ok ? opened.read(await givenVariables(opened.variables, options)) : opened;
    if (!reading.ok) return reading;
    const { name, nodes, services } = reading.spec;
    const count = Object.values(nodes).reduce((sum, group) => sum + group.count, 0);
    const parts = [formatCount(count, 'node'), formatCount(Object.keys(services).length, 'service')];
    return { problems: reading.warnings, content: `cluster ${name}: ${parts.join(', ')}` };
  },
  image: (file) => {
    const reading = loadImageFile(file);
    return reading.ok ? { problems: [], content: `image ${reading.spec.name}` } : reading;
  },
  pools: (file) => {
    const reading = loadPoolsFile(file);
    if (!reading.ok) return reading;
    return { problems: [], content: `pools ${reading.pools.map(({ name }) => name).join(', ')}` };
  },
};

const maxBytes = 1024 * 1024;

/** By the keys that one kind alone has; what cannot be read is left to the reader of cluster files. */
function kindOf(file: string): FileKind {
  const read = readTextFile(file, maxBytes);
  const source = read.ok ? readYamlFile(read.text, file, { bytes: maxBytes, depth: 64 }) : undefined;
  const value = source?.ok === true ? source.value : undefined;
  if (typeof value !== 'object' || value === null) return 'cluster';
  if ('pools' in value) return 'pools';
  return 'recipe' in value || 'command' in value ? 'image' : 'cluster';
}
