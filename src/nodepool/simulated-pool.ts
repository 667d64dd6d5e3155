import type { JsonObject } from '../model/json.js';
import { warningAt, type Path, type Problem } from '../schema/problem.js';
import { labelOmitted, remarkUnread } from './remarks.js';
import type { Taking } from './taking.js';
import type { NodepoolPool, NodepoolProvider } from './written.js';

/** Nodepool's defaults, in seconds and attempts. */
const defaults = { launchTimeout: 3_600, bootTimeout: 60, launchRetries: 3 } as const;

/**
 * A provider pool of the simulated cloud; machines of the account `simulated` replace its servers.
 */
export function importSimulatedPool(
  taking: Taking,
  provider: NodepoolProvider,
  pool: NodepoolPool,
  { name, priority, path }: { readonly name: string; readonly priority: number; readonly path: Path },
): readonly Problem[] {
  const remarks: Problem[] = [];
  const labels: Record<string, JsonObject> = {};
  const { confirmWithin, launchAttempts } = timesOf(provider);
  for (const [index, offer] of (pool.labels ?? []).entries()) {
    const at = [...path, 'labels', index];
    remarks.push(...remarkUnread('offer', offer, at));
    if (!taking.declares(offer.name)) {
      remarks.push(labelOmitted(offer.name, at));
      continue;
    }
    const asked = [
      offer['flavor-name'],
      offer['min-ram'] === undefined ? undefined : `${offer['min-ram']} MiB`,
      offer['cloud-image'] ?? offer['diskimage'],
    ].filter((word) => word !== undefined);
    if (asked.length > 0)
      remarks.push(
        warningAt(
          at,
          `${asked.join(' with ')} is imported as hardware small with image host`,
          'Set hardware and image of your account.',
        ),
      );
    if (pool['max-cores'] !== undefined)
      remarks.push(
        warningAt(
          at,
          'does not specify the cores of a machine, which the pool limits',
          'Set cores under uses.',
        ),
      );
    const memory = offer['min-ram'];
    if (pool['max-ram'] !== undefined && memory === undefined)
      remarks.push(
        warningAt(
          at,
          'does not specify the memory of a machine, which the pool limits',
          'Set memory under uses.',
        ),
      );
    labels[taking.serve(offer.name)] = {
      hardware: 'small',
      image: 'host',
      confirmWithin,
      ...(memory === undefined ? {} : { uses: { memory } }),
    };
  }
  if (Object.keys(labels).length === 0) return remarks;
  taking.pools[taking.providerPools.another(name)] = {
    provider: taking.simulated,
    priority,
    limits: limitsOf(pool),
    launchAttempts,
    ...(pool['ignore-provider-quota'] === true ? { ignoreQuota: true } : {}),
    ...(pool['node-attributes'] == null ? {} : { attributes: pool['node-attributes'] as JsonObject }),
    labels,
  };
  return remarks;
}

/** Timeout of a machine, in seconds, and the number of machines that may fail. */
export function timesOf({
  'launch-timeout': launch = defaults.launchTimeout,
  'boot-timeout': boot = defaults.bootTimeout,
  'launch-retries': attempts = defaults.launchRetries,
}: NodepoolProvider): { readonly confirmWithin: number; readonly launchAttempts: number } {
  return {
    confirmWithin: Math.max(1, Math.round(launch + boot)),
    launchAttempts: Math.min(20, Math.max(1, Math.round(attempts))),
  };
}

/** Zero and negative limits disable a pool. */
export function limitsOf(limits: {
  readonly 'max-servers'?: number | undefined;
  readonly 'max-cores'?: number | undefined;
  readonly 'max-ram'?: number | undefined;
}): JsonObject {
  const words = { nodes: limits['max-servers'], cores: limits['max-cores'], memory: limits['max-ram'] };
  return Object.fromEntries(
    Object.entries(words).flatMap(([word, most]) => (most === undefined ? [] : [[word, Math.max(0, most)]])),
  );
}
