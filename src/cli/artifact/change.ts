import type { PrunedVersion } from '../../model/artifact/state.js';
import type { ResourceRecord } from '../../schema/output/resource.js';
import type { ResourceClient } from '../../client/artifact/artifact-client.js';
import type { ServerOptions } from '../configuration.js';
import { confirm } from '../terminal.js';
import { verb } from '../verb.js';

interface PruneOptions extends ServerOptions {
  /** Ms. */
  readonly olderThan?: number;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

interface Pruned {
  readonly removed?: readonly PrunedVersion[];
  readonly wouldRemove?: readonly PrunedVersion[];
}

/** Removes unused versions. */
export const prune = verb(
  async ({ client: { resources } }, options: PruneOptions): Promise<Pruned> => {
    const { versions, pruning } = await resources.prunable(options.olderThan);
    if (versions.length === 0) return { removed: [] };
    if (options.dryRun === true) return { wouldRemove: versions };
    const some = `${versions.slice(0, 5).map(describeVersion).join(', ')}${versions.length > 5 ? ', …' : ''}`;
    await confirm(`Remove ${versions.length} version${versions.length === 1 ? '' : 's'}: ${some}?`, options);
    return { removed: await resources.prune(pruning) };
  },
  {
    worker: true,
    print: (output, { removed = [], wouldRemove = [] }) => {
      if (removed.length + wouldRemove.length === 0) output.line('There is nothing to remove.');
      for (const version of wouldRemove) output.line(`would remove ${describeVersion(version)}`);
      for (const version of removed) output.line(`removed ${describeVersion(version)}`);
    },
  },
);

function describeVersion({ name, version }: PrunedVersion): string {
  return `version ${version} of ${name}`;
}

export const set = setVerb((resources, name, version: number | null, _options: ServerOptions) =>
  resources.set(name, version),
);

export const rollback = setVerb((resources, name, _options: ServerOptions) => resources.rollBack(name));

function setVerb<Args extends unknown[]>(
  change: (resources: ResourceClient, name: string, ...args: Args) => Promise<ResourceRecord>,
): (name: string, ...args: Args) => Promise<number> {
  return verb<[name: string, ...Args], ResourceRecord>(
    ({ client }, name, ...args) => change(client.resources, name, ...args),
    {
      worker: true,
      document: (record, ...[name]) => ({ name, set: record.set ?? null, before: record.before }),
      print: (output, record, ...[name]) =>
        output.line(
          record.set === undefined
            ? `resource ${name}: no version is set; clusters keep the versions in use, and no cluster can start to use it`
            : `resource ${name}: version ${record.set} is set; clusters use it from their next apply`,
        ),
    },
  );
}
