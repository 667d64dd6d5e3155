import type { PeersPage, PeersRequest } from '../model/messages.js';
import type { Peer } from '../model/task.js';
import { PluginError } from '../plugins/errors.js';

/** Clusters whose peers one process remembers. */
const remembered = 200;

interface Known {
  version: number;
  nodes: Readonly<Record<string, Peer>>;
  asking?: Promise<void>;
}

export interface PeersCache {
  /** The peers at least as new as `version`. */
  get(clusterUid: string, workflowId: string, version: number): Promise<Readonly<Record<string, Peer>>>;
}

/**
 * What this process knows of each cluster's nodes. It asks only for what changed since, and one request for a cluster
 * is under way at a time, however many tasks wait for it.
 */
export function createPeersCache(ask: (workflowId: string, request: PeersRequest) => Promise<PeersPage>): PeersCache {
  const clusters = new Map<string, Known>();

  const askPatiently = (workflowId: string, request: PeersRequest): Promise<PeersPage> => ask(workflowId, request).catch((cause: unknown) => {
    // Server or workers may be down for a while; nothing was begun on the node.
    throw new PluginError('Retryable', `${workflowId} did not tell its nodes (${cause instanceof Error ? cause.message : String(cause)})`, { cause });
  });

  const refresh = async (known: Known, workflowId: string): Promise<void> => {
    const nodes: Record<string, Peer> = { ...known.nodes };
    const since = known.version;
    let page = await askPatiently(workflowId, { since });
    Object.assign(nodes, page.changed);
    // A node that changes between two pages is asked for again: the first page's version counts.
    const { version } = page;
    while (page.next !== undefined) {
      page = await askPatiently(workflowId, { since, after: page.next });
      Object.assign(nodes, page.changed);
    }
    for (const gone of page.gone) delete nodes[gone];
    known.nodes = nodes;
    known.version = version;
  };

  return {
    async get(clusterUid, workflowId, version) {
      const known = clusters.get(clusterUid) ?? { version: 0, nodes: {} };
      clusters.delete(clusterUid);
      clusters.set(clusterUid, known);
      if (clusters.size > remembered) clusters.delete(clusters.keys().next().value ?? '');
      while (known.version < version) {
        known.asking ??= refresh(known, workflowId).finally(() => {
          delete known.asking;
        });
        await known.asking;
      }
      return known.nodes;
    },
  };
}
