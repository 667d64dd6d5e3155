import type { PoolState } from '../../model/pool/state.js';
import { poolNodeStates } from '../../model/pool/node.js';

/**
 * What the Web UI shows beside a pool's workflow: its labels, and how many nodes of each are in which state.
 */
export function detailsOfPool({ name, spec, nodes, requests }: PoolState): string {
  const labels = Object.keys(spec?.labels ?? {});
  const counts: Record<string, number> = {};
  for (const { label, state, slots } of Object.values(nodes))
    if (slots === undefined) counts[`${label} ${state}`] = (counts[`${label} ${state}`] ?? 0) + 1;
  const rows = labels
    .slice(0, 50)
    .map(
      (label) =>
        `| ${label} | ${poolNodeStates.map((state) => counts[`${label} ${state}`] ?? 0).join(' | ')} |`,
    );
  const open = Object.values(requests);
  return [
    `Pool **${name}**: ${Object.keys(nodes).length} nodes, ${open.length} requests, ${open.filter(({ state }) => state === 'requested').length} of them waiting.`,
    '',
    `| label | ${poolNodeStates.join(' | ')} |`,
    `| --- |${' ---: |'.repeat(poolNodeStates.length)}`,
    ...rows,
  ].join('\n');
}
