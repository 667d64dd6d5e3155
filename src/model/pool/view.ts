import type { JsonObject } from '../json.js';
import { formatImageRef } from '../machine/image.js';
import { stripSecrets } from '../node/strip-secrets.js';
import { openLedger } from './capacity-ledger.js';
import type { Amounts } from './amounts.js';
import { isWaiting } from './allocate.js';
import { isLost } from './allocated.js';
import type { PoolNode, PoolNodeState } from './node.js';
import { type VersionStatus, versionStatusOf } from './library.js';
import { pausesIn } from './pause.js';
import { reasonsBySignature, signatureOf } from './order.js';
import type { EndedRequest, NodeRequest, RequestState } from './request.js';
import type { PoolState } from './state.js';
import { viewLabel, type LabelView } from './view-label.js';

/** A request as its requester sees it. */
export interface RequestView {
  readonly id: string;
  readonly state: RequestState | EndedRequest['how'];
  readonly labels: readonly string[];
  readonly requester: string;
  readonly priority?: number;
  readonly tenant?: string;
  readonly attributes?: JsonObject;
  /** Of the machine of a cluster that the node is. */
  readonly tags?: NodeRequest['tags'];
  readonly providerPool?: string;
  /** Once it is fulfilled, in the order of the labels; credentials included. */
  readonly nodes?: readonly GrantedNode[];
  /** Ids of nodes that are being made for it. */
  readonly making?: readonly string[];
  /** Why each provider pool cannot serve it. */
  readonly declined?: Readonly<Record<string, string>>;
  readonly waits?: string;
  /** The last failure of a machine for it, while it waits for nodes. */
  readonly lastFailure?: string;
  /** Ms since the epoch. */
  readonly createdAt?: number;
  readonly since: number;
  readonly expiresAt?: number;
  readonly version: number;
}

/** A node as its requester sees it. */
export interface GrantedNode {
  readonly id: string;
  readonly label: string;
  readonly hostname: string;
  /** How to reach it: `ipaddress`, `ssh-port`, `ssh-auth`, `ssh-host-key`. Credentials included. */
  readonly payload: JsonObject;
  /** Absent if the request no longer has it. */
  readonly providerPool?: string;
  /** From the provider pool's configuration. */
  readonly attributes: JsonObject;
  /** The request no longer has it: it was deleted, or its hold ended. */
  readonly lost?: true;
}

export interface RequestsPage {
  /** Ask again for what changed after this. */
  readonly version: number;
  readonly requests: readonly RequestView[];
}

/** A node for people; holds no secret. */
export interface PoolNodeView {
  readonly id: string;
  readonly label: string;
  readonly providerPool: string;
  readonly provider: string;
  readonly state: PoolNodeState;
  readonly since: number;
  readonly createdAt: number;
  readonly request?: string;
  readonly requester?: string;
  readonly tenant?: string;
  readonly ipaddress?: string;
  readonly providerid?: string;
  readonly hold?: PoolNode['hold'];
  readonly why?: string;
  readonly backing?: string;
  readonly slots?: number;
  readonly handedOut: number;
  /** The version of an image of the library that it was made from. */
  readonly image?: string;
  /** There is a newer version, or this one was taken back. */
  readonly replaced?: Exclude<VersionStatus, 'current'>;
}

export interface PoolNodesPage {
  readonly nodes: readonly PoolNodeView[];
  /** Present when there are more. */
  readonly next?: string;
}

interface ProviderPoolView {
  readonly provider: string;
  readonly priority: number;
  readonly limits: Amounts;
  readonly used: Amounts;
  /** What the account's own quota leaves to this pool. */
  readonly quota?: Amounts;
  /** Why no node is created there now. */
  readonly paused?: string;
}

export interface PoolView {
  readonly name: string;
  readonly uid: string;
  readonly labels: Readonly<Record<string, LabelView>>;
  readonly providerPools: Readonly<Record<string, ProviderPoolView>>;
  readonly tenants: Readonly<Record<string, { readonly limits: Amounts; readonly used: Amounts }>>;
  readonly requests: Readonly<Record<RequestState, number>>;
  readonly leaving?: { readonly by: string; readonly at: number };
  readonly exported?: PoolState['exported'];
  readonly restored?: PoolState['restored'];
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
