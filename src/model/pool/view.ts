import type { GrantedNode, PoolNodeView, PoolView, RequestView } from '../../schema/output/pool.js';
import { formatImageRef } from '../machine/image.js';
import { stripSecrets } from '../node/strip-secrets.js';
import { openLedger } from './capacity-ledger.js';
import { isWaiting } from './allocate.js';
import { isLost } from './allocated.js';
import type { PoolNode } from './node.js';
import { versionStatusOf } from './library.js';
import { pausesIn } from './pause.js';
import { reasonsBySignature, signatureOf } from './order.js';
import type { EndedRequest, NodeRequest, RequestState } from './request.js';
import type { PoolState } from './state.js';
import { viewLabel } from './view-label.js';

export interface RequestsPage {
  /** Ask again for what changed after this. */
  readonly version: number;
  readonly requests: readonly RequestView[];
}

export interface PoolNodesPage {
  readonly nodes: readonly PoolNodeView[];
  /** Present when there are more. */
  readonly next?: string;
}

function viewRequest(pool: PoolState, request: NodeRequest): RequestView {
  const {
    id,
    state,
    labels,
    requester,
    priority,
    attributes,
    createdAt,
    since,
    version,
    tenant,
    tags,
    providerPool,
    declined,
    waits,
    lastFailure,
    expiresAt,
    nodes,
  } = request;
  return {
    id,
    state,
    labels,
    requester,
    priority,
    attributes,
    createdAt,
    since,
    version,
    tenant,
    tags,
    providerPool,
    ...(Object.keys(declined).length === 0 ? {} : { declined }),
    ...(waits === undefined || state === 'fulfilled' ? {} : { waits }),
    ...(lastFailure === undefined || !isWaiting(request) ? {} : { lastFailure }),
    expiresAt,
    ...(state === 'fulfilled' ? { nodes: nodes.map((node) => grantedNode(pool, request, node)) } : {}),
    ...(state === 'pending' ? { making: nodes } : {}),
  };
}

function viewEnded({ id, how, labels, requester, at, version }: EndedRequest): RequestView {
  return { id, state: how, labels, requester, since: at, version };
}

export function viewRequests(
  pool: PoolState,
  wanted: { readonly ids: readonly string[] } | { readonly since: number },
): RequestsPage {
  const isWanted = ({ id, version }: { readonly id: string; readonly version: number }): boolean =>
    'ids' in wanted ? wanted.ids.includes(id) : version > wanted.since;
  const open =
    'ids' in wanted
      ? wanted.ids.flatMap((id) => pool.requests[id] ?? [])
      : Object.values(pool.requests).filter(isWanted);
  return {
    version: pool.counters.version,
    requests: [...viewOpen(pool, open), ...pool.ended.filter(isWanted).map(viewEnded)],
  };
}

function viewOpen(pool: PoolState, open: readonly NodeRequest[]): readonly RequestView[] {
  const isSilent = ({ state, waits }: NodeRequest): boolean => state === 'requested' && waits === undefined;
  const reasons = open.some(isSilent) ? reasonsBySignature(pool) : undefined;
  return open.map((request) => {
    const why = isSilent(request) ? reasons?.get(signatureOf(request)) : undefined;
    return viewRequest(
      pool,
      why === undefined ? request : { ...request, waits: `an earlier request for the same waits: ${why}` },
    );
  });
}

function grantedNode(pool: PoolState, request: NodeRequest, id: string): GrantedNode {
  const node = pool.nodes[id];
  if (node === undefined || isLost(pool, request, id))
    return {
      id,
      label: request.labels[request.nodes.indexOf(id)] ?? '',
      hostname: '',
      payload: {},
      attributes: {},
      lost: true,
    };
  const { machine } = node.backing === undefined ? node : (pool.nodes[node.backing] ?? node);
  const { label, providerPool } = node;
  const attributes = pool.spec?.providerPools[providerPool]?.attributes ?? {};
  return { id, label, hostname: machine.hostname, payload: machine.payload, providerPool, attributes };
}

export function viewNode(pool: PoolState, node: PoolNode): PoolNodeView {
  const {
    id,
    label,
    providerPool,
    state,
    since,
    createdAt,
    request,
    tenant,
    hold,
    why,
    backing,
    slots,
    handedOut,
  } = node;
  const { payload, placement } = (backing === undefined ? node : (pool.nodes[backing] ?? node)).machine;
  const { ipaddress, providerid } = stripSecrets(payload);
  const requester = request === undefined ? undefined : pool.requests[request]?.requester;
  const status = versionStatusOf(pool, node);
  return {
    id,
    label,
    providerPool,
    provider: placement?.provider ?? pool.spec?.providerPools[providerPool]?.provider ?? '',
    state,
    since,
    createdAt,
    handedOut,
    request,
    requester,
    tenant,
    ...(typeof ipaddress === 'string' ? { ipaddress } : {}),
    ...(typeof providerid === 'string' ? { providerid } : {}),
    image: placement?.built === undefined ? undefined : formatImageRef(placement.built),
    ...(status === 'current' ? {} : { replaced: status }),
    hold,
    why,
    backing,
    slots,
  };
}

export function viewPool(pool: PoolState, now: number): PoolView {
  const ledger = openLedger(pool, now);
  const { name, uid, spec, leaving, exported, restored } = pool;
  const requests: Record<RequestState, number> = { requested: 0, pending: 0, fulfilled: 0, failed: 0 };
  for (const { state } of Object.values(pool.requests)) requests[state] += 1;
  return {
    name,
    uid,
    requests,
    leaving,
    exported,
    restored,
    labels: Object.fromEntries(
      Object.keys(spec?.labels ?? {}).map((label) => [label, viewLabel(pool, ledger, label, now)]),
    ),
    providerPools: Object.fromEntries(
      Object.entries(spec?.providerPools ?? {}).map(([key, { provider, priority, limits }]) => {
        const paused = pausesIn(pool, key).join('; ') || undefined;
        const quota = pool.quotas[provider]?.limits;
        return [key, { provider, priority, limits, used: ledger.used[key] ?? {}, quota, paused }];
      }),
    ),
    tenants: Object.fromEntries(
      Object.entries(spec?.tenants ?? {}).map(([tenant, limits]) => [
        tenant,
        { limits, used: ledger.tenants[tenant] ?? {} },
      ]),
    ),
  };
}
