import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { HeddleClient } from '../../../src/client/index.js';
import { formatProblem } from '../../../src/schema/problem.js';
import { loadSpecFile } from '../../../src/schema/cluster/read.js';

/** Scripts of the one service `web` of a small cluster. */
export interface SpecOptions {
  readonly name: string;
  readonly count?: number;
  readonly provider?: string;
  readonly install?: string;
  readonly configure?: string;
  readonly start?: string;
}

/**
 * Writes a cluster file: `count` nodes `app-<n>`, each with service `web`, which can be stopped. Gives its
 * path.
 */
export async function writeSpec(
  folder: string,
  { name, count = 1, provider = 'local', ...scripts }: SpecOptions,
): Promise<string> {
  const shell = (script: string): object => ({ type: 'shell', fields: { script } });
  const file = join(folder, `${name}.yaml`);
  await writeFile(
    file,
    JSON.stringify(
      {
        name,
        nodes: { app: { count, provider, hardware: 'tiny', image: 'host', services: ['web'] } },
        services: {
          web: {
            peers: 'none',
            actions: {
              install: shell(scripts.install ?? 'echo installed'),
              configure: shell(scripts.configure ?? 'true'),
              start: shell(scripts.start ?? 'echo started'),
              stop: shell('true'),
            },
          },
        },
      },
      undefined,
      2,
    ),
  );
  return file;
}

/** Makes the cluster of a file without the command line. */
export async function makeCluster(client: HeddleClient, file: string): Promise<void> {
  const reading = loadSpecFile(file);
  if (!reading.ok) throw new Error(reading.problems.map(formatProblem).join('\n'));
  const { operation } = await client.apply(reading.spec);
  const end = await client.waitFor(reading.spec.name, operation);
  if (end.operation.state !== 'done')
    throw new Error(`apply of ${reading.spec.name} is ${end.operation.state}: ${end.operation.reason}`);
}
