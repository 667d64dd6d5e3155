import { log } from '@temporalio/workflow';
import { unknownOutcome, type EngineKind } from '../../model/node/failure.js';
import type { PoolNode } from '../../model/pool/node.js';
import { launchFailed, nodeBuilt, nodeGone, postpone, type LaunchFailure } from '../../model/pool/outcome.js';
import type { PoolState } from '../../model/pool/state.js';
import { publishLaunch } from './metrics.js';

/** Machines that cannot be deleted are tried again after so long, and later each time. */
const firstAgainMs = 60_000;
const lastAgainMs = 30 * 60_000;

/** The node's machine is there; or it is not, for the reason given. */
export function endBuild(pool: PoolState, nodeId: string, failure?: LaunchFailure): void {
  const node = pool.nodes[nodeId];
  const now = Date.now();
  const kind = failure === undefined || node === undefined ? undefined : kindOf(pool, node, failure);
  if (node?.state === 'building') publishLaunch(pool, node, kind ?? 'ready', now);
  if (failure === undefined || kind === undefined) return nodeBuilt(pool, nodeId, now);
  log.warn(`node ${nodeId} was not built`, { kind });
  launchFailed(pool, nodeId, { kind, message: failure.message }, now);
}

function kindOf(pool: PoolState, node: PoolNode, { kind }: LaunchFailure): string {
  return kind === ('Timeout' satisfies EngineKind) && hasUnknownMachine(pool, node) ? unknownOutcome : kind;
}

/**
 * Whether its CREATE may have made a machine that the provider cannot find: no other machine
 * may take its place.
 */
export function hasUnknownMachine(
  { providerTypes }: PoolState,
  { machine: { facts, createBegun, placement } }: PoolNode,
): boolean {
  return (
    facts.CREATE === undefined &&
    createBegun === true &&
    providerTypes?.[placement?.type ?? '']?.hasUnknownOutcomes === true
  );
}

/** The node's machine is gone; or it is not yet, for the reason given. */
export function endDelete(pool: PoolState, nodeId: string, failure?: LaunchFailure): void {
  const node = pool.nodes[nodeId];
  const now = Date.now();
  if (node === undefined) return;
  if (failure === undefined) return nodeGone(pool, nodeId, now);
  const againMs = Math.min(lastAgainMs, Math.max(firstAgainMs, (node.againAt ?? 0) - node.since));
  log.warn(`node ${nodeId} was not deleted`, { againMs });
  postpone(pool, nodeId, `is not deleted yet: ${failure.message}`, now + againMs);
}
