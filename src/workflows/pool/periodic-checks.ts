import { accountRef, probedNode } from '../../model/node/assigned-machine.js';
import { ActivityFailure, log } from '@temporalio/workflow';
import { chunksOf } from '../../model/chunks.js';
import { poolWorkflowId } from '../../model/names.js';
import { checkedNodes, checkIntervalMs, quotaDueAt } from '../../model/pool/due.js';
import { excess, minus, plus, type Amounts } from '../../model/pool/amounts.js';
import type { PoolNode } from '../../model/pool/node.js';
import { nodeRestarted, nodeUnhealthy, nodeHealthy } from '../../model/pool/outcome.js';
import { noteSizes } from '../../model/pool/sizes.js';
import { changePoolNode, type PoolState } from '../../model/pool/state.js';
import { nodesPerProbe } from '../probe-batches.js';
import { schedule } from '../schedule.js';
import { noteChange } from '../entity.js';
import type { PoolMemory } from './memory.js';

/**
 * Begins due checks: of ready nodes if configured, and of the quotas of accounts with requests. Also notifies
 * providers of reused nodes.
 */
export function beginChecks(memory: PoolMemory, now: number): void {
  const { pool } = memory;
  for (const name of Object.keys(pool.spec?.providerPools ?? {})) {
    if ((pool.checkedAt[name] ?? Infinity) + checkIntervalMs(pool, name) > now) continue;
    pool.checkedAt[name] = now;
    startCheck(memory, `check ${name}`, () => check(pool, name));
  }
  for (const { id, reused } of Object.values(pool.nodes))
    if (reused === true) startCheck(memory, `notification about ${id}`, () => notifyReused(pool, id));
  for (const account of accountsOf(pool)) {
    if (!isBusy(pool) && pool.awaitsQuota[account] === undefined) continue;
    if (quotaDueAt(pool, account) > now) continue;
    pool.quotasAskedAt[account] = now;
    startCheck(memory, `quota of ${account}`, () => readQuota(pool, account));
  }
}

/** Only a pool that makes machines, or would like to, needs to know its quotas. */
function isBusy({ nodes, requests }: PoolState): boolean {
  return (
    Object.values(nodes).some(({ state }) => state === 'building') ||
    Object.values(requests).some(({ state }) => state === 'requested')
  );
}

function startCheck(memory: PoolMemory, what: string, work: () => Promise<void>): void {
  if (memory.checking[what] === true) return;
  memory.checking[what] = true;
  work()
    .catch((error: unknown) => {
      if (!(error instanceof ActivityFailure)) throw error;
      log.warn(`${what} failed`, { why: error.cause?.message ?? error.message });
    })
    .finally(() => {
      delete memory.checking[what];
      noteChange(memory);
    });
}

/** Sent once, whether or not it succeeds. */
async function notifyReused(pool: PoolState, id: string): Promise<void> {
  const node = pool.nodes[id];
  changePoolNode(pool, id, ({ reused: _reused, ...before }) => before);
  const placement = node?.machine.placement;
  if (node === undefined || placement === undefined) return;
  await schedule(
    'NODE_REUSED',
    {
      clusterId: poolWorkflowId(pool.name),
      provider: accountRef(placement),
      node: probedNode(pool.uid, node.machine),
    },
    { at: placement, summary: `NODE_REUSED ${id}` },
  );
}

async function check(pool: PoolState, name: string): Promise<void> {
  const nodes = checkedNodes(pool, name).filter(({ machine }) => machine.placement !== undefined);
  await Promise.all(chunksOf(nodes, nodesPerProbe).map(async (batch) => checkBatch(pool, batch)));
}

async function checkBatch(pool: PoolState, nodes: readonly PoolNode[]): Promise<void> {
  const placement = nodes[0]?.machine.placement;
  if (placement === undefined) return;
  const provider = accountRef(placement);
  const looked = nodes.map(({ machine }) => probedNode(pool.uid, machine));
  const { observations, unknown } = await schedule(
    'PROBE_NODES',
    { clusterId: poolWorkflowId(pool.name), provider, nodes: looked },
    { at: placement, summary: `PROBE_NODES ${looked.length} nodes of ${provider.name}` },
  );
  const keeps = pool.spec?.providerPools[nodes[0]?.providerPool ?? '']?.keepUnwell === true;
  const unsure = new Set(unknown.map(({ nodeId }) => nodeId));
  for (const { id } of nodes) {
    const seen = observations.find(({ nodeId }) => nodeId === id);
    // A machine that was made here and came up again, or moved, is not the one that was made ready.
    if (seen?.seen === 'rebooted' && keeps) nodeRestarted(pool, id, Date.now());
    else if (seen !== undefined) nodeUnhealthy(pool, id, seen.why, Date.now());
    else if (!unsure.has(id)) nodeHealthy(pool, id, Date.now());
  }
}

function accountsOf({ spec }: PoolState): readonly string[] {
  return [
    ...new Set(
      Object.values(spec?.providerPools ?? {})
        .filter(({ ignoreQuota }) => ignoreQuota !== true)
        .map(({ provider }) => provider),
    ),
  ];
}

/** What others use of the account is not ours to have. */
async function readQuota(pool: PoolState, account: string): Promise<void> {
  const placement = Object.values(pool.placements)
    .flatMap((offers) => Object.values(offers))
    .find(({ provider }) => provider === account);
  if (placement === undefined) return;
  const nodes = nodesOf(pool, account);
  const { quota } = await schedule(
    'READ_QUOTA',
    { provider: { name: account, type: placement.type }, flavors: flavorsOf(pool, account) },
    { at: placement, summary: `READ_QUOTA of ${account}` },
  );
  const none: Amounts = {};
  if (quota === undefined) {
    pool.quotas[account] = { limits: none, total: none, readAt: Date.now() };
    return;
  }
  noteSizes(pool, account, quota.sizes);
  const ours = nodes.reduce<Amounts>((sum, { id, uses }) => plus(sum, pool.nodes[id]?.uses ?? uses), none);
  const others = excess(
    quota.used,
    Object.fromEntries(Object.keys(quota.used).map((key) => [key, ours[key] ?? 0])),
  );
  const limits = Object.fromEntries(
    Object.entries(minus(quota.limits, others))
      .filter(([key]) => quota.limits[key] !== undefined)
      .map(([key, left]) => [key, Math.max(0, left)]),
  );
  pool.quotas[account] = { limits, total: quota.limits, readAt: Date.now() };
}

function nodesOf({ nodes, spec }: PoolState, account: string): readonly PoolNode[] {
  return Object.values(nodes).filter(
    ({ providerPool }) => spec?.providerPools[providerPool]?.provider === account,
  );
}

function flavorsOf({ placements }: PoolState, account: string): readonly string[] {
  const offers = Object.values(placements).flatMap((pool) => Object.values(pool));
  return [...new Set(offers.flatMap(({ provider, flavor }) => (provider === account ? [flavor] : [])))];
}
