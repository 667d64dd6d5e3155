import type { NodeStatus } from '../../model/cluster/view.js';

/** A large cluster may have lost a whole rack. */
const shown = 5;

/** A line for each machine that the last look did not find as it should be. */
export function driftLines(nodes: readonly NodeStatus[]): readonly string[] {
  const lines = nodes.flatMap(({ nodeId, drift }) =>
    drift === undefined ? [] : [`drift: ${nodeId}: ${drift.why}`],
  );
  return lines.length <= shown
    ? lines
    : [...lines.slice(0, shown), `drift: and ${lines.length - shown} nodes more`];
}
