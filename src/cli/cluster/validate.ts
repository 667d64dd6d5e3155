import { loadImageFile } from '../../schema/image/read.js';
import { openSpecFile } from '../../schema/cluster/read.js';
import type { ValidateDocument } from '../../schema/output/documents.js';
import { hasErrors } from '../../schema/problem.js';
import { readTextFile } from '../../schema/read-text.js';
import { readYamlFile } from '../../schema/yaml-source.js';
import type { CommonOptions } from '../configuration.js';
import { formatCount } from '../format.js';
import { givenVariables, type VariableOptions } from '../given-variables.js';
import { type FileReading, type Validation, validatePools, validationShown } from '../validation.js';
import { localVerb } from '../verb.js';

type FileKind = ValidateDocument['kind'];

/** Checks a file without a server. Workers check the rest: fields of plugins, accounts, secrets. */
export const validate = localVerb(
  async (file: string, options: CommonOptions & VariableOptions): Promise<Validation> => {
    const kind = kindOf(file);
    return { file, kind, ...readers[kind](file, options) };
  },
  validationShown,
);

const readers: Readonly<Record<FileKind, (file: string, options: VariableOptions) => FileReading>> = {
  cluster: (file, options) => {
    const opened = openSpecFile(file);
    if (!opened.ok) return opened;
    const { problems, spec, unset } = opened.check(givenVariables(opened.variables, options));
    if (hasErrors(problems)) return { problems };
    if (spec === undefined) {
      const without = `has no errors in what can be checked without values for ${unset.join(', ')}`;
      return { problems, verdict: `${without}; references and dependencies are not checked` };
    }
    const { name, nodes, services } = spec;
    const count = Object.values(nodes).reduce((sum, group) => sum + group.count, 0);
    const parts = [formatCount(count, 'node'), formatCount(Object.keys(services).length, 'service')];
    return { problems, verdict: `is valid: cluster ${name}: ${parts.join(', ')}` };
  },
  image: (file) => {
    const reading = loadImageFile(file);
    return reading.ok ? { problems: [], verdict: `is valid: image ${reading.spec.name}` } : reading;
  },
  pools: validatePools,
};

const maxBytes = 1024 * 1024;

/**
 * Recognises a kind of file by keys that only it has; unreadable files are left to the reader of cluster
 * files.
 */
function kindOf(file: string): FileKind {
  const read = readTextFile(file, maxBytes);
  const source = read.ok ? readYamlFile(read.text, file, { bytes: maxBytes, depth: 64 }) : undefined;
  const value = source?.ok === true ? source.value : undefined;
  if (typeof value !== 'object' || value === null) return 'cluster';
  if ('pools' in value) return 'pools';
  return 'recipe' in value || 'command' in value ? 'image' : 'cluster';
}
