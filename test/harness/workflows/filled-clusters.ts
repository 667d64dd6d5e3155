import { bounds } from '../../../src/model/bounds.js';
import { firstWithin } from '../../../src/model/carried.js';
import { refuseTooLarge } from '../../../src/model/cluster/carry.js';
import { nothingPending, packGroup } from '../../../src/model/cluster/group.js';
import { keptRevisions, newRevision } from '../../../src/model/cluster/revision.js';
import { defaultLimits } from '../../../src/model/cluster/limits.js';
import type { Operation } from '../../../src/model/cluster/operation.js';
import type { ClusterState } from '../../../src/model/cluster/state.js';
import { maxPayloadBytes } from '../../../src/model/node/payload.js';
import { noPeers } from '../../../src/model/node/peers.js';
import { lacksRoom, leanFailure, mostServices, payloadBounds } from '../../../src/model/node/room.js';
import type { NodeState } from '../../../src/model/node/state.js';
import { longFailure, at, many, pad, specOf } from './filler.js';

/** Payloads as large as possible, until there is no more room; then failures without their outputs. */
function fullNodes(count: number, bound: number): Record<string, NodeState> {
  const services = many(mostServices / count, (number) => `service-${number}`);
  const facts = { INSTALL: pad(18), CONFIGURE: pad(18), INITIALIZE: pad(18), START: pad(18), peers: 100_000 };
  const fields = { text: pad(20_000) };
  const placement = { provider: 'local', type: 'local', site: 'x', flavor: 'small', image: 'host', fields };
  const all: Record<string, NodeState> = Object.fromEntries(
    many(count, (number) => [
      `app-${number}`,
      {
        nodeId: `app-${number}`,
        group: 'app',
        nodenum: number,
        hostname: `full-app-${number}`,
        incarnation: number,
        payload: {},
        facts: {
          machine: pad(18),
          CREATE: true,
          CONFIRM: true,
          services: Object.fromEntries(services.map((name) => [name, { ...facts, begun: 'START' }])),
        },
        services,
        placement,
        health: Object.fromEntries(services.map((name) => [name, { well: false, at, why: pad(500) }])),
        changedAt: number,
        runs: {},
      } satisfies NodeState,
    ]),
  );
  for (const [id, node] of Object.entries(all)) {
    const payload = { text: pad(Math.min(maxPayloadBytes - 20, Math.floor(bound / count) - 20)) };
    if (lacksRoom(all, id, payload, bound) === undefined) all[id] = { ...node, payload };
  }
  for (const [id, node] of Object.entries(all)) all[id] = { ...node, failure: leanFailure(longFailure) };
  return all;
}

function fullOperation(number: number): Operation {
  return {
    id: `${number}`,
    uid: pad(12, number),
    kind: 'exec',
    intent: { kind: 'exec', command: pad(20_000, number) },
    what: pad(200, number),
    state: 'failed',
    by: 'test',
    requestedAt: at,
    endedAt: at,
    tasks: { total: 1, done: 1, failed: 0 },
    failures: many(5, () => ({
      nodeId: 'app-1',
      action: 'INSTALL',
      kind: 'ScriptFailed',
      message: pad(4_000),
      at,
    })),
  } as Operation;
}

/** With groups whose rows, and a plan that, do not fit. */
export function fullClusterState(): ClusterState {
  const rows = (group: number): ClusterState['groups'][string]['rows'] =>
    many(5, (number) => ({
      group: 'app',
      nodes: [[number, number]],
      operation: '20',
      facts: { services: { web: { INSTALL: pad(4_000, 100 * group + number) } } },
    }));
  const state: ClusterState = {
    name: 'full',
    uid: 'u',
    spec: specOf('full', 1),
    achieved: specOf('full', 2),
    before: specOf('full', 3),
    revisions: many(keptRevisions, (number) => newRevision('full', number, fullOperation(number))),
    scaled: Object.fromEntries(many(500, (number) => [pad(30, number), 1_000])),
    achievedCounts: Object.fromEntries(many(500, (number) => [pad(30, number), 1_001])),
    stopped: [],
    retired: {},
    nodes: fullNodes(50, payloadBounds.cluster),
    peers: noPeers,
    queue: [],
    history: firstWithin(
      many(20, (number) => fullOperation(number)),
      bounds.cluster.history.most,
    ),
    checks: { asked: 0, done: 0 },
    incarnation: 50,
    counters: { operation: 20, nodenum: 50, group: 100, revision: 0 },
    groups: Object.fromEntries(
      many(100, (number) => [
        `${number + 1}`,
        {
          uid: 'g'.repeat(36),
          members: { app: [[number * 100, number * 100 + 99] as const] },
          pending: [],
          sent: 5,
          seen: 5,
          reported: [1_000_000, 1_800_000_000_000] as const,
          quiet: true,
          over: true,
          peersVersion: 5,
          waits: ['CONFIRM:@app'],
          rows: rows(number),
          outputNodes: {
            [`app-${number}`]: { nodenum: 1, services: [], values: { x: pad(4_000) }, hidden: [] },
          },
          failed: 0,
          excluded: 0,
        },
      ]),
    ),
    features: { searchAttributes: false },
    limits: defaultLimits,
    readers: Object.fromEntries(many(10, (number) => [`reader-${number}`, { x: pad(4_900) }])),
    imports: Object.fromEntries(
      many(6, (number) => [`v${number}`, { value: pad(4_900), imported: true }]),
    ) as never,
  };
  // A held operation, so that the queued one stays.
  const { failures, ...held } = { ...fullOperation(21), state: 'held' } as const;
  const waiting = specOf('full', 4, 155_000);
  const added = { intent: fullOperation(22).intent, spec: waiting };
  const why = refuseTooLarge({ ...state, operation: held }, added);
  if (why !== undefined) throw new Error(why);
  return {
    ...state,
    operation: { ...held, failures, reason: pad(10_000) },
    queue: [
      {
        operation: { ...fullOperation(22), state: 'queued', failures: undefined },
        spec: waiting,
        waits: true,
      },
    ],
  };
}

export function fullGroup(): object {
  const spec = specOf('full', 1);
  const steps = many(
    1_000,
    (number) => ({ action: 'INSTALL', service: 'web', digest: pad(420, number) }) as const,
  );
  return packGroup({
    cluster: 'full',
    clusterUid: 'u',
    group: '1',
    uid: 'g',
    limits: defaultLimits,
    nodes: fullNodes(100, payloadBounds.group),
    peers: noPeers,
    incarnation: 100,
    operation: '7',
    begun: 7,
    requests: many(40, (number) => pad(12, number)),
    received: [1_000_000, 1_800_000_000_000],
    seen: 3,
    reports: 1_000_000,
    peersVersion: 1,
    services: spec.services,
    config: {},
    command: { text: pad(100_000) },
    opened: many(100, (number) => `START:service-${number}`),
    batchSlots: [],
    paused: false,
    report: {
      ...nothingPending,
      failures: many(100, (number) => ({
        failure: { nodeId: `app-${number}`, action: 'INSTALL', kind: 'ScriptFailed', message: pad(300), at },
        group: 'app',
        remaining: [],
      })),
    },
    work: {
      operation: '7',
      kinds: [{ group: 'app', purpose: 'update', nodes: [], chain: steps, services: ['web'] }],
      placements: {},
      positions: {},
      doneBefore: 0,
    },
  });
}
