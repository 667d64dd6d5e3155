import type { NodeState } from './state.js';
import type { NodesState } from '../cluster/work.js';
import type { Peer } from './task.js';

const pageSize = 500;

/** A cluster or a group of its nodes. */
type Carrier = NodesState & {
  readonly peers: PeersState;
  readonly groups?: Readonly<Record<string, { readonly peersVersion: number }>>;
};

export const noPeers: PeersState = { version: 0, gone: {}, changedAt: {} };

/** A node as its peers see it. The address is there once the machine was confirmed. */
function peerOf(node: NodeState): Peer {
  const { ipaddress, hostname } = node.payload;
  const known = node.facts.CONFIRM === true && typeof ipaddress === 'string';
  // A provider may use another name for the machine.
  return {
    hostname: typeof hostname === 'string' ? hostname : node.hostname,
    services: node.services,
    nodenum: node.nodenum,
    group: node.group,
    initialized: initializedServices(node),
    ...(known ? { ipaddress } : {}),
  };
}

/** A previous run of the cluster may have initialized any service on an adopted machine. */
function initializedServices({ facts, keyUid, services }: NodeState): readonly string[] {
  const { initialized = [] } = facts;
  return keyUid === undefined ? initialized : [...new Set([...initialized, ...services])];
}

/** Notes that nodes with these services joined, left or changed address. */
export function touchPeers(peers: PeersState, services: readonly string[]): PeersState {
  const version = peers.version + 1;
  const changedAt: Record<string, number> = { ...peers.changedAt, '*': version };
  for (const service of services) changedAt[service] = version;
  return { ...peers, version, changedAt };
}

/** Notes that something else changed that peers see of a node. No service is changed for its readers. */
export function publishPeers(peers: PeersState): PeersState {
  return { ...peers, version: peers.version + 1 };
}

/** The version of the last join, leave or new address: the list that tasks must see at least. */
export function membershipVersion(peers: PeersState): number {
  return peers.changedAt['*'] ?? 0;
}

/** The version of the last change among the nodes a service reads. */
export function peersChangedAt(peers: PeersState, scope: ReadonlySet<string> | 'all'): number {
  if (scope === 'all') return membershipVersion(peers);
  return Math.max(0, ...[...scope].map((service) => peers.changedAt[service] ?? 0));
}

/**
 * What changed since a version among the nodes that one workflow carries; a cluster's says which groups there
 * are, too.
 */
export function peersPage(state: Carrier, { since, after = '' }: PeersRequest): PeersPage {
  const ids = Object.keys(state.nodes)
    .toSorted()
    .filter((id) => id > after);
  const changed: Record<string, Peer> = {};
  for (const [place, id] of ids.entries()) {
    const node = state.nodes[id];
    if (node === undefined || node.leaving === true || node.excluded !== undefined || node.changedAt <= since)
      continue;
    changed[id] = peerOf(node);
    if (Object.keys(changed).length === pageSize && place < ids.length - 1) {
      return { version: state.peers.version, changed, gone: [], next: id };
    }
  }
  const groups = Object.entries(state.groups ?? {});
  const versions = Object.fromEntries(groups.map(([id, group]) => [id, group.peersVersion]));
  const gone = Object.entries(state.peers.gone).flatMap(([id, version]) => (version > since ? [id] : []));
  return {
    version: state.peers.version,
    changed,
    gone,
    ...(groups.length === 0 ? {} : { groups: versions }),
  };
}

/** Who the peers are changes with a version; `gone` remembers in which version a node left. */
export interface PeersState {
  readonly version: number;
  readonly gone: Readonly<Record<string, number>>;
  /** Version of the last join, leave or new address among the nodes of a service; `*` for all nodes. */
  readonly changedAt: Readonly<Record<string, number>>;
}

export interface PeersRequest {
  /** The version the caller has; 0 for none. */
  readonly since: number;
  /** Continue after this node id (paging). */
  readonly after?: string;
}

/** What changed among the peers since a version. */
export interface PeersPage {
  readonly version: number;
  readonly changed: Readonly<Record<string, Peer>>;
  readonly gone: readonly string[];
  /**
   * Versions of the lists of the groups that carry further nodes, by group; they are asked for themselves.
   */
  readonly groups?: Readonly<Record<string, number>>;
  /** Present when there is more: ask again after this node id. */
  readonly next?: string;
}
