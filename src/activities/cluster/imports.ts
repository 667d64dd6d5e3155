import { jsonBytes } from '../../model/carried.js';
import type { Outputs } from '../../model/cluster/outputs.js';
import type { ClusterSpec } from '../../model/cluster/spec.js';
import { importsOf, type TaskVariable, type TaskVariables } from '../../model/cluster/variables.js';
import { importFault } from '../../schema/cluster/import-value.js';
import { errorAt, quoteValue, type Problem } from '../../schema/problem.js';
import { suggest } from '../../schema/suggest.js';

/** How the worker asks other clusters; undefined where there is no such cluster. */
export interface OutputReader {
  /** The outputs of a cluster at present. */
  readonly outputs: (cluster: string) => Promise<Outputs | undefined>;
  /** The clusters whose outputs a cluster uses. */
  readonly sources: (cluster: string) => Promise<readonly string[] | undefined>;
}

/** Largest values of other clusters' outputs that a cluster keeps, all together, in bytes of JSON. */
export const maxImportBytes = 30_000;

interface ReadImports {
  readonly imports: TaskVariables;
  readonly problems: readonly Problem[];
}

/**
 * The values of a spec's variables that are outputs of other clusters. One that has none at present keeps the
 * value that it had `before`. A value that is not what its variable declares is a problem.
 */
export async function readImports(
  reader: OutputReader,
  spec: ClusterSpec,
  before: TaskVariables = {},
): Promise<ReadImports> {
  const imports: Record<string, TaskVariable> = {};
  const problems: Problem[] = [];
  for (const [cluster, names] of Object.entries(importsOf(spec))) {
    const circle = await findCircle(reader, spec.name, cluster);
    if (circle !== undefined) {
      const [name = ''] = Object.keys(names);
      problems.push(
        errorAt(['variables', name, 'from'], describeCircle(circle), 'Remove one of these uses.'),
      );
      continue;
    }
    const outputs = await reader.outputs(cluster);
    for (const [name, output] of Object.entries(names)) {
      const read = readImport(cluster, output, outputs);
      const known = 'value' in read ? read : before[name];
      if (known?.imported === true) {
        const misfit = checkFit(spec, name, `output ${output} of cluster ${cluster}`, known);
        if (misfit === undefined) imports[name] = known;
        else problems.push(misfit);
      } else if ('wrong' in read) problems.push(errorAt(['variables', name], read.wrong, read.right));
    }
  }
  return { imports, problems: [...problems, ...checkSize(imports)] };
}

function checkFit(
  { variables = {} }: ClusterSpec,
  name: string,
  source: string,
  { value, secret }: TaskVariable,
): Problem | undefined {
  const declared = variables[name];
  const fault = declared !== undefined && 'from' in declared ? importFault(value, declared) : undefined;
  if (fault === undefined) return undefined;
  const shown = secret === true ? 'its value' : quoteValue(value);
  return errorAt(
    ['variables', name],
    `takes its value from ${source}, and ${shown} ${fault}`,
    'If the value is correct, declare its type and format, or its pattern.',
  );
}

function checkSize(imports: TaskVariables): readonly Problem[] {
  const bytes = jsonBytes(imports);
  if (bytes <= maxImportBytes) return [];
  const [largest = ''] = Object.keys(imports).toSorted(
    (a, b) => jsonBytes(imports[b]) - jsonBytes(imports[a]),
  );
  return [
    errorAt(
      ['variables', largest],
      `is the largest value from other clusters; these values have ${bytes} bytes in total as JSON, and the limit is ${maxImportBytes}`,
      "Put large values into resources ('heddle resource put') and use their names.",
    ),
  ];
}

/** Clusters that use each other would configure each other again and again. */
async function findCircle(
  { sources }: OutputReader,
  name: string,
  first: string,
): Promise<readonly string[] | undefined> {
  const paths: (readonly string[])[] = [[first]];
  const seen = new Set([first]);
  for (let path = paths.shift(); path !== undefined; path = paths.shift()) {
    for (const source of (await sources(path.at(-1) ?? '')) ?? []) {
      if (source === name) return [...path, source];
      if (!seen.has(source)) paths.push([...path, source]);
      seen.add(source);
    }
  }
  return undefined;
}

function describeCircle([first = '', ...others]: readonly string[]): string {
  return `takes its value from cluster ${first}${others.map((name) => `, which uses outputs of ${name}`).join('')}`;
}

function readImport(
  cluster: string,
  name: string,
  outputs: Outputs | undefined,
): TaskVariable | { readonly wrong: string; readonly right: string } {
  const command = `heddle output ${cluster}`;
  if (outputs === undefined)
    return {
      wrong: `takes its value from cluster ${cluster}, which does not exist`,
      right: 'Apply that cluster first.',
    };
  const output = Object.hasOwn(outputs, name) ? outputs[name] : undefined;
  if (output === undefined)
    return {
      wrong: `takes its value from output ${name} of cluster ${cluster}, which has no such output`,
      right: suggest(name, Object.keys(outputs)) ?? `Run '${command}' to see its outputs.`,
    };
  if ('missing' in output)
    return {
      wrong: `takes its value from output ${name} of cluster ${cluster}, which has no value at present: ${output.missing}`,
      right: `Run '${command}' to see it.`,
    };
  const { value, secret } = output;
  return { value, imported: true, ...(secret === true ? { secret } : {}) };
}
