import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { formatProblem, loadSpecFile, type ClusterSpec } from '../../../src/client/index.js';

/** A copy of an example that is edited as people edit it. */
export interface Example {
  /** Replaces a text wherever it stands in the cluster file; one that is missing is an error. */
  edit(from: string, to: string): Promise<void>;
  spec(): ClusterSpec;
}

export async function copyExample(name: string, folder: string): Promise<Example> {
  const file = join(folder, `${name}.yaml`);
  const examples = join(import.meta.dirname, '..', '..', '..', 'examples');
  for (const part of [`${name}.yaml`, name])
    await cp(join(examples, part), join(folder, part), { recursive: true });
  return {
    async edit(from, to) {
      const pieces = (await readFile(file, 'utf8')).split(from);
      if (pieces.length === 1) throw new Error(`${name}.yaml does not hold: ${from}`);
      await writeFile(file, pieces.join(to));
    },
    spec() {
      const reading = loadSpecFile(file);
      if (!reading.ok) throw new Error(reading.problems.map(formatProblem).join('\n'));
      return reading.spec;
    },
  };
}
