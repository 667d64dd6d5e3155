import type { PrunedVersion } from '../../model/artifact/state.js';
import type { ServerOptions } from '../configuration.js';
import { confirm } from '../confirm.js';
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

/** Removes versions that nothing needs any more. */
export const prune = verb(
  async ({ client: { resources } }, options: PruneOptions): Promise<Pruned> => {
    const { versions, pruning } = await resources.prunable(options.olderThan);
    if (versions.length === 0) return { removed: [] };
    if (options.dryRun === true) return { wouldRemove: versions };
    const some = `${versions.slice(0, 5).map(describe).join(', ')}${versions.length > 5 ? ', …' : ''}`;
    await confirm(`Remove ${versions.length} version${versions.length === 1 ? '' : 's'}: ${some}?`, options);
    return { removed: await resources.prune(pruning) };
  },
  {
    worker: true,
    print: (output, { removed = [], wouldRemove = [] }) => {
      if (removed.length + wouldRemove.length === 0) output.line('There is nothing to remove.');
      for (const version of wouldRemove) output.line(`would remove ${describe(version)}`);
      for (const version of removed) output.line(`removed ${describe(version)}`);
    },
  },
);

function describe({ name, version }: PrunedVersion): string {
  return `version ${version} of ${name}`;
}
