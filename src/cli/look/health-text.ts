import type { ServiceHealth } from '../../model/node/health.js';
import type { NodeStatus } from '../../model/cluster/view.js';
import { formatAge } from '../time-text.js';

/**
 * A service of a node in a word: `web`, `web (well)`, `web (not well)`. Without a check nothing is known of
 * it.
 */
export function withHealth(service: string, health: ServiceHealth | undefined): string {
  if (health === undefined) return service;
  return `${service} (${health.well ? 'well' : 'not well'})`;
}

/** Why services are not well, and when they were looked at. */
export function healthLines(nodes: readonly NodeStatus[], now: number): readonly string[] {
  return nodes.flatMap(({ nodeId, health = {} }) =>
    Object.entries(health).flatMap(([service, { well, at, why }]) =>
      well
        ? []
        : [
            `${service} on ${nodeId} is not well: ${why ?? 'its check did not pass'} (looked at ${formatAge(at, now)} ago)`,
          ],
    ),
  );
}
