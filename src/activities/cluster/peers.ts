import type { PeersPage, PeersRequest } from '../../model/node/peers.js';
import type { Peer } from '../../model/node/task.js';
import { PluginError } from '../../plugins/errors.js';

/** Clusters whose peers one process remembers. */
const remembered = 200;

/**
 * Requests for a version before it counts as missing: one may be shared with an earlier caller, one is new.
 */
const rounds = 3;

/** The run of a workflow. */
interface RunOfWorkflow {
  readonly workflowId: string;
  readonly runId: string;
}

interface Known {
  /** Lists of the cluster's workflow and of those of its groups, by workflow. */
  readonly lists: Map<string, List>;
  /** The run of each workflow that sent a task here last. */
  readonly runs: Map<string, string>;
  version: number;
  nodes: Readonly<Record<string, Peer>>;
  asking?: Promise<void>;
}

interface List {
  version: number;
  nodes: Record<string, Peer>;
}

export interface PeersCache {
  /**
   * Returns peers at least as new as `version`, for a task that `run` sent.
   * @throws PluginError Retryable if there is no answer, or the answer is older.
   */
  get(
    clusterUid: string,
    workflowId: string,
    version: number,
    run?: RunOfWorkflow,
  ): Promise<Readonly<Record<string, Peer>>>;
}

/**
 * What this process knows of each cluster's nodes. It asks only for what changed since, and one request for a
 * cluster is under way at a time, however many tasks wait for it.
 */
export function createPeersCache(
  ask: (workflowId: string, request: PeersRequest) => Promise<PeersPage>,
): PeersCache {
  const clusters = new Map<string, Known>();

  const askPatiently = (workflowId: string, request: PeersRequest): Promise<PeersPage> =>
    ask(workflowId, request).catch((cause: unknown) => {
      // Server or workers may be down for a while; nothing was begun on the node.
      throw new PluginError(
        'Retryable',
        `${workflowId} did not return its nodes (${cause instanceof Error ? cause.message : String(cause)})`,
        { cause },
      );
    });

  /** Brings the list of one workflow up to date; gives its first page. */
  const refreshList = async (known: Known, workflowId: string): Promise<PeersPage> => {
    const list = known.lists.get(workflowId) ?? { version: 0, nodes: {} };
    const run = known.runs.get(workflowId);
    const nodes: Record<string, Peer> = { ...list.nodes };
    const since = list.version;
    const first = await askPatiently(workflowId, { since });
    let page = first;
    Object.assign(nodes, page.changed);
    while (page.next !== undefined) {
      page = await askPatiently(workflowId, { since, after: page.next });
      Object.assign(nodes, page.changed);
    }
    for (const gone of page.gone) delete nodes[gone];
    // A node that changes between two pages is asked for again: the first page's version counts.
    if (known.runs.get(workflowId) === run) known.lists.set(workflowId, { version: first.version, nodes });
    return { ...page, version: first.version };
  };

  const refresh = async (known: Known, workflowId: string): Promise<void> => {
    const { version, groups = {} } = await refreshList(known, workflowId);
    const ids = Object.entries(groups).map(([group, wanted]) => ({
      id: `${workflowId}/group/${group}`,
      wanted,
    }));
    for (const { id, wanted } of ids) {
      if ((known.lists.get(id)?.version ?? 0) < wanted) await refreshList(known, id);
    }
    const living = new Set([workflowId, ...ids.map(({ id }) => id)]);
    for (const id of known.lists.keys()) if (!living.has(id)) known.lists.delete(id);
    known.nodes = Object.assign({}, ...[...known.lists.values()].map(({ nodes }) => nodes)) as Record<
      string,
      Peer
    >;
    known.version = known.lists.has(workflowId) ? version : 0;
  };

  return {
    async get(clusterUid, workflowId, version, run) {
      const known: Known = clusters.get(clusterUid) ?? {
        lists: new Map(),
        runs: new Map(),
        version: 0,
        nodes: {},
      };
      clusters.delete(clusterUid);
      clusters.set(clusterUid, known);
      if (clusters.size > remembered) clusters.delete(clusters.keys().next().value ?? '');
      if (run !== undefined) noteRun(known, run);
      for (let round = 1; known.version < version; round += 1) {
        // A terminated or reset workflow leaves tasks behind; the workflow that now has its id counts
        // versions anew.
        if (round > rounds)
          throw new PluginError(
            'Retryable',
            `${workflowId} has version ${known.version} of its nodes, but the task needs version ${version}; check whether the workflow was terminated or reset`,
          );
        known.asking ??= refresh(known, workflowId).finally(() => {
          delete known.asking;
        });
        await known.asking;
      }
      return known.nodes;
    },
  };
}

/**
 * A reset workflow counts versions from the reset point: versions of the discarded run may never exist again.
 */
function noteRun(known: Known, { workflowId, runId }: RunOfWorkflow): void {
  const before = known.runs.get(workflowId);
  known.runs.set(workflowId, runId);
  if (before === undefined || before === runId) return;
  known.lists.delete(workflowId);
  known.version = 0;
}
