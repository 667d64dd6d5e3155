import { describe, expect, it } from 'vitest';
import { createPeersCache } from '../../src/activities/cluster/peers.js';
import {
  type PeersPage,
  type PeersRequest,
  membershipVersion,
  noPeers,
  peersChangedAt,
  peersPage,
  publishPeers,
  touchPeers,
} from '../../src/model/node/peers.js';
import { recordBegun } from '../../src/model/node/record.js';
import type { NodeState } from '../../src/model/node/state.js';
import type { ClusterState } from '../../src/model/cluster/state.js';

/** A cluster whose workflow answers as the real one does, and counts how often it was asked. */
class Cluster {
  nodes: Record<string, NodeState> = {};
  peers = noPeers;
  readonly asked: PeersRequest[] = [];

  join(id: string): void {
    this.peers = touchPeers(this.peers, ['app']);
    const nodenum = Object.keys(this.nodes).length + 1;
    this.nodes[id] = {
      nodeId: id,
      group: 'app',
      nodenum,
      hostname: `web-${id}`,
      incarnation: 1,
      payload: {},
      facts: { services: {} },
      services: ['app'],
      changedAt: this.peers.version,
      runs: {},
    };
  }

  initialize(id: string): void {
    const node = this.nodes[id];
    if (node === undefined) throw new Error(`there is no ${id}`);
    this.peers = publishPeers(this.peers);
    const begun = recordBegun(node, { action: 'INITIALIZE', service: 'app' });
    this.nodes[id] = { ...begun, changedAt: this.peers.version };
  }

  leave(id: string): void {
    this.peers = touchPeers(this.peers, ['app']);
    this.peers = { ...this.peers, gone: { ...this.peers.gone, [id]: this.peers.version } };
    delete this.nodes[id];
  }

  readonly ask = async (_workflowId: string, request: PeersRequest): Promise<PeersPage> => {
    this.asked.push(request);
    await Promise.resolve();
    const state: Pick<ClusterState, 'nodes' | 'peers'> = { nodes: this.nodes, peers: this.peers };
    return peersPage(state as ClusterState, request);
  };
}

describe('the cache of peers', () => {
  it('asks once for many tasks, and not at all for what it has', async () => {
    const cluster = new Cluster();
    cluster.join('app-1');
    cluster.join('app-2');
    const cache = createPeersCache(cluster.ask);
    const all = await Promise.all(Array.from({ length: 50 }, () => cache.get('u', 'cluster/web', 2)));
    expect(new Set(all.map((nodes) => Object.keys(nodes).join(' ')))).toEqual(new Set(['app-1 app-2']));
    await cache.get('u', 'cluster/web', 1);
    expect(cluster.asked).toEqual([{ since: 0 }]);
  });

  it('asks only for changes, and drops nodes that left', async () => {
    const cluster = new Cluster();
    cluster.join('app-1');
    cluster.join('app-2');
    const cache = createPeersCache(cluster.ask);
    await cache.get('u', 'cluster/web', 2);
    cluster.leave('app-1');
    cluster.join('app-3');
    expect(Object.keys(await cache.get('u', 'cluster/web', 4))).toEqual(['app-2', 'app-3']);
    expect(cluster.asked).toEqual([{ since: 0 }, { since: 2 }]);
  });

  it('shows with the next new node which services were initialized before it, and asks no earlier', async () => {
    const cluster = new Cluster();
    cluster.join('app-1');
    const cache = createPeersCache(cluster.ask);
    expect(await cache.get('u', 'cluster/web', 1)).toMatchObject({ 'app-1': { initialized: [] } });
    cluster.initialize('app-1');
    expect(membershipVersion(cluster.peers)).toBe(1);
    expect(peersChangedAt(cluster.peers, new Set(['app']))).toBe(1);
    cluster.join('app-2');
    expect(await cache.get('u', 'cluster/web', membershipVersion(cluster.peers))).toMatchObject({
      'app-1': { initialized: ['app'] },
      'app-2': { initialized: [] },
    });
    expect(cluster.asked).toEqual([{ since: 0 }, { since: 1 }]);
  });

  it('reads all pages, and asks again for changes between them', async () => {
    const cluster = new Cluster();
    for (let index = 1; index <= 501; index += 1) cluster.join(`app-${index}`);
    let late = true;
    const cache = createPeersCache(async (workflowId, request) => {
      const page = await cluster.ask(workflowId, request);
      if (late && request.after === undefined) cluster.join('aaa');
      late = false;
      return page;
    });
    expect(Object.keys(await cache.get('u', 'cluster/web', 501))).toHaveLength(501);
    expect(Object.keys(await cache.get('u', 'cluster/web', 502))).toHaveLength(502);
    expect(cluster.asked.map(({ since, after }) => [since, after !== undefined])).toEqual([
      [0, false],
      [0, true],
      [501, false],
    ]);
  });

  it('asks again after a failure, and separates clusters by their uid', async () => {
    const cluster = new Cluster();
    cluster.join('app-1');
    let down = true;
    const cache = createPeersCache(async (workflowId, request) => {
      if (down) throw new Error('no worker');
      return cluster.ask(workflowId, request);
    });
    await expect(cache.get('u', 'cluster/web', 1)).rejects.toMatchObject({
      kind: 'Retryable',
      message: 'cluster/web did not return its nodes (no worker)',
    });
    down = false;
    expect(Object.keys(await cache.get('u', 'cluster/web', 1))).toEqual(['app-1']);
    await cache.get('another', 'cluster/web', 1);
    expect(cluster.asked).toHaveLength(2);
  });

  it('gives up if the workflow of the task is gone; another one of its name counts from the start', async () => {
    const cluster = new Cluster();
    cluster.join('app-1');
    const cache = createPeersCache(cluster.ask);
    await expect(cache.get('u', 'cluster/web', 7)).rejects.toMatchObject({
      kind: 'Retryable',
      message: expect.stringContaining('has version 1 of its nodes, but the task needs version 7') as string,
    });
    expect(cluster.asked.length).toBeLessThan(5);
  });

  it('asks for everything again when the workflow was reset', async () => {
    const cluster = new Cluster();
    cluster.join('app-1');
    const cache = createPeersCache(cluster.ask);
    const before = { workflowId: 'cluster/web', runId: 'before' };
    await cache.get('u', 'cluster/web', 1, before);
    const { nodes, peers } = cluster;
    cluster.nodes = { ...nodes };
    cluster.join('app-2');
    cluster.join('app-3');
    expect(Object.keys(await cache.get('u', 'cluster/web', 3, before))).toEqual(['app-1', 'app-2', 'app-3']);
    cluster.nodes = nodes;
    cluster.peers = peers;
    cluster.join('app-4');
    const after = { workflowId: 'cluster/web', runId: 'after' };
    expect(Object.keys(await cache.get('u', 'cluster/web', 2, after))).toEqual(['app-1', 'app-4']);
    expect(Object.keys(await cache.get('u', 'cluster/web', 2, after))).toEqual(['app-1', 'app-4']);
    expect(cluster.asked).toEqual([{ since: 0 }, { since: 1 }, { since: 0 }]);
  });

  it('ignores an answer that was requested before a reset', async () => {
    const cluster = new Cluster();
    cluster.join('app-1');
    let answer: (() => void) | undefined;
    const held = new Promise<void>((resolve) => {
      answer = resolve;
    });
    let calls = 0;
    const cache = createPeersCache(async (workflowId, request) => {
      calls += 1;
      const page = await cluster.ask(workflowId, request);
      if (calls === 1) await held;
      return page;
    });
    const early = cache.get('u', 'cluster/web', 1, { workflowId: 'cluster/web', runId: 'before' });
    await Promise.resolve();
    cluster.nodes = {};
    cluster.peers = noPeers;
    cluster.join('app-2');
    const late = cache.get('u', 'cluster/web', 1, { workflowId: 'cluster/web', runId: 'after' });
    answer?.();
    expect(Object.keys(await late)).toEqual(['app-2']);
    await early;
  });
});
