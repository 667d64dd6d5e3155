import type { JsonObject } from '../json.js';
import { formatImageRef } from '../machine/image.js';
import { stripSecrets } from '../node/strip-secrets.js';
import { missingFor, offerKey, openLedger, type CapacityLedger } from './capacity-ledger.js';
import { amountsText, isNothing, type Amounts } from './amounts.js';
import { isWaiting } from './allocate.js';
import { isLost } from './allocated.js';
import type { PoolNode, PoolNodeState } from './node.js';
import { lacksImage, placementFor, type VersionStatus, versionStatusOf } from './library.js';
import { pauseOf, pausesIn } from './pause.js';
import { inOrder, signatureOf } from './order.js';
import type { EndedRequest, NodeRequest, RequestState } from './request.js';
import { usesOf } from './sizes.js';
import type { PoolState } from './state.js';

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

interface LabelView {
  readonly minReady: number;
  readonly onReturn: string;
  /** Nodes by state. */
  readonly nodes: Readonly<Partial<Record<PoolNodeState, number>>>;
  /** Why fewer nodes are ready than are to be kept ready; absent where enough are. */
  readonly lacks?: string;
  /** Requests for it that wait. */
  readonly waiting: number;
  /** The provider pools that serve it, the first by priority first. */
  readonly servedBy: readonly {
    readonly providerPool: string;
    readonly provider: string;
    readonly priority: number;
    readonly slots?: number;
    readonly image?: ServedImage;
  }[];
}

/** The version that new nodes there are created from; absent: why there is none. */
interface ServedImage {
  readonly name: string;
  readonly version?: string;
  readonly lacks?: string;
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

/** Of equal waiting requests admission considers the first; the others wait for the same. */
function viewOpen(pool: PoolState, open: readonly NodeRequest[]): readonly RequestView[] {
  const isSilent = ({ state, waits }: NodeRequest): boolean => state === 'requested' && waits === undefined;
  const reasons = new Map<string, string>();
  if (open.some(isSilent))
    for (const request of Object.values(pool.requests))
      if (request.state === 'requested' && request.waits !== undefined)
        reasons.set(signatureOf(request), request.waits);
  return open.map((request) => {
    const why = isSilent(request) ? reasons.get(signatureOf(request)) : undefined;
    return viewRequest(
      pool,
      why === undefined ? request : { ...request, waits: `an earlier one like it waits: ${why}` },
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
  const attributes = pool.spec?.providerPools[node.providerPool]?.attributes ?? {};
  return { id, label: node.label, hostname: machine.hostname, payload: machine.payload, attributes };
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
  const { name, uid, spec, leaving } = pool;
  const requests: Record<RequestState, number> = { requested: 0, pending: 0, fulfilled: 0, failed: 0 };
  for (const { state } of Object.values(pool.requests)) requests[state] += 1;
  return {
    name,
    uid,
    requests,
    leaving,
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

function viewLabel(pool: PoolState, ledger: CapacityLedger, label: string, now: number): LabelView {
  const { minReady = 0, onReturn = 'delete' } = pool.spec?.labels[label] ?? {};
  const nodes: Partial<Record<PoolNodeState, number>> = {};
  for (const node of Object.values(pool.nodes))
    if (node.label === label && node.slots === undefined) nodes[node.state] = (nodes[node.state] ?? 0) + 1;
  const servedBy = Object.entries(pool.spec?.providerPools ?? {})
    .flatMap(([providerPool, { provider, priority, labels }]) => {
      const slots = labels[label]?.slots;
      return labels[label] === undefined
        ? []
        : [{ providerPool, provider, priority, slots, ...servedImage(pool, providerPool, label) }];
    })
    .toSorted((one, other) => one.priority - other.priority);
  return {
    minReady,
    onReturn,
    nodes,
    ...((nodes.ready ?? 0) < minReady ? { lacks: lacksOf(pool, ledger, label, now) } : {}),
    waiting: inOrder(pool).filter(({ labels }) => labels.includes(label)).length,
    servedBy,
  };
}

/** What keeps each provider pool from making the label's nodes ready; otherwise they are on their way. */
function lacksOf(pool: PoolState, ledger: CapacityLedger, label: string, now: number): string {
  const whys = Object.entries(pool.spec?.providerPools ?? {}).flatMap(([name, provider]) => {
    const offer = provider.labels[label];
    if (offer === undefined) return [];
    const key = offerKey(name, label);
    const missing = missingFor(pool, ledger, name, provider, usesOf(pool, name, label));
    const isResting = (pool.resting[key]?.until ?? 0) > now;
    const why =
      lacksImage(pool, name, label) ??
      pool.failures?.[key]?.why ??
      pauseOf(pool, { providerPool: name, label })?.why ??
      (isNothing(missing) ? undefined : `${amountsText(missing)} too much at the moment`);
    return why === undefined ? [] : [`${name}: ${why}${isResting ? ' (tried again later)' : ''}`];
  });
  return whys.length === 0 ? 'nodes are being created' : whys.join('; ');
}

function servedImage(pool: PoolState, providerPool: string, label: string): { readonly image?: ServedImage } {
  const name = pool.placements[providerPool]?.[label]?.libraryImage;
  if (name === undefined) return {};
  const built = placementFor(pool, providerPool, label)?.built;
  const lacks = lacksImage(pool, providerPool, label);
  return { image: { name, version: built === undefined ? undefined : formatImageRef(built), lacks } };
}
