import { bounds } from '../../../src/model/bounds.js';
import { firstWithin, jsonBytes, maxSpecBytes } from '../../../src/model/carried.js';
import { refusePut, putVersion, type Catalogue } from '../../../src/model/artifact/state.js';
import { packCluster, refuseTooLarge } from '../../../src/model/cluster/carry.js';
import { nothingPending, packGroup } from '../../../src/model/cluster/group.js';
import { defaultLimits } from '../../../src/model/cluster/limits.js';
import type { Operation } from '../../../src/model/cluster/operation.js';
import type { ClusterSpec } from '../../../src/model/cluster/spec.js';
import type { ClusterState } from '../../../src/model/cluster/state.js';
import { refuseBuild } from '../../../src/model/image/room.js';
import type { ImageState } from '../../../src/model/image/state.js';
import { refuseLargeIntent, rememberOperation } from '../../../src/model/machine/remember.js';
import type { MachineIntent, MachineOperation, MachineState } from '../../../src/model/machine/state.js';
import type { FailureRecord } from '../../../src/model/node/failure.js';
import { maxPayloadBytes } from '../../../src/model/node/payload.js';
import { noPeers } from '../../../src/model/node/peers.js';
import { lacksRoom, leanFailure, mostServices, payloadBounds } from '../../../src/model/node/room.js';
import type { NodeState } from '../../../src/model/node/state.js';
import { addRequest, holdNode } from '../../../src/model/pool/allocate.js';
import { packPool } from '../../../src/model/pool/carry.js';
import { configurePool } from '../../../src/model/pool/configure.js';
import { makeNode } from '../../../src/model/pool/make.js';
import { nodeBuilt } from '../../../src/model/pool/outcome.js';
import { lacksRoom as lacksPoolRoom, nodesLeft, refuseRequests } from '../../../src/model/pool/room.js';
import { changePoolNode, endRequest, newPool } from '../../../src/model/pool/state.js';
import { packReservations } from '../../../src/model/reservation/carry.js';
import { maxAssignments, mostMachines } from '../../../src/model/reservation/check.js';
import { tell } from '../../../src/model/reservation/notification.js';
import {
  newReservations,
  withAssignment,
  withNote,
  withReservation,
  type Assignment,
  type Reservation,
} from '../../../src/model/reservation/state.js';
import { closed, nodes } from './spec.js';

/*
 * Each long-lived workflow at all of its limits at once. Where the model decides what is taken, it is asked until it
 * refuses.
 */

const at = new Date(0).toISOString();
const many = <Value>(count: number, make: (number: number) => Value): Value[] =>
  Array.from({ length: count }, (_, number) => make(number));
/** A text that has so many bytes as JSON. */
const pad = (bytes: number, salt = 0): string => `${salt}-`.padEnd(bytes - 2, 'x');

/** A spec of this size as JSON, each different from the others. */
export function specOf(name: string, number: number, bytes = maxSpecBytes): ClusterSpec {
  const make = (length: number): ClusterSpec =>
    closed({
      name,
      nodes: { app: nodes(1, ['web']) },
      services: {
        web: {
          actions: { install: { type: 'shell', fields: { script: `: ${number} #`.padEnd(length, '"') } } },
        },
      },
    });
  // A quote is two bytes of JSON.
  return make(100 + Math.floor((bytes - jsonBytes(make(100))) / 2));
}

const longFailure: FailureRecord = {
  taskId: 't',
  action: 'INSTALL',
  kind: 'ScriptFailed',
  message: pad(4_000),
  stdout: pad(4_000),
  stderr: pad(4_000),
  at,
};

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
    stateVersion: 1,
    name: 'full',
    uid: 'u',
    spec: specOf('full', 1),
    achieved: specOf('full', 2),
    before: specOf('full', 3),
    stopped: [],
    retired: {},
    nodes: fullNodes(50, payloadBounds.cluster),
    peers: noPeers,
    queue: [],
    history: firstWithin(
      many(20, (number) => fullOperation(number)),
      bounds.cluster.history.most,
    ),
    looks: { asked: 0, done: 0 },
    counters: { operation: 20, incarnation: 50, nodenum: 50, group: 100 },
    groups: Object.fromEntries(
      many(100, (number) => [
        `${number + 1}`,
        {
          members: { app: [[number * 100, number * 100 + 99] as const] },
          pending: [],
          sent: 5,
          seen: 5,
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

function fullGroup(): object {
  const spec = specOf('full', 1);
  const steps = many(
    1_000,
    (number) => ({ action: 'INSTALL', service: 'web', digest: pad(420, number) }) as const,
  );
  return packGroup({
    stateVersion: 1,
    cluster: 'full',
    clusterUid: 'u',
    group: '1',
    limits: defaultLimits,
    nodes: fullNodes(100, payloadBounds.group),
    peers: noPeers,
    incarnation: 100,
    operation: '7',
    seen: 3,
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

function fullPool(): object {
  const pool = newPool('full', 'u');
  const placement = { provider: 'local', type: 'local', site: 'default', flavor: 'small', image: 'host' };
  const offers = many(100, (number) => `label-${number}`);
  const fields = { text: pad(1_200) };
  configurePool(pool, {
    spec: {
      name: 'full',
      tenants: {},
      labels: Object.fromEntries(
        offers.map((name) => [name, { minReady: 0, spareAge: 600, onReturn: 'delete' }]),
      ),
      providerPools: {
        main: {
          provider: 'local',
          priority: 100,
          limits: {},
          attributes: {},
          launchAttempts: 3,
          labels: Object.fromEntries(
            offers.map((name) => [name, { hardware: 'small', image: 'host', fields, uses: { nodes: 1 } }]),
          ),
        },
      },
    },
    placements: {
      main: Object.fromEntries(offers.map((name) => [name, { ...placement, fields, digest: pad(18) }])),
    },
    providerTypes: { local: { deleteWithinMs: 130_000, claims: false } },
  });
  const now = Date.now();
  for (let number = 0; ; number += 1) {
    const demand = {
      id: `request-${number}`,
      labels: ['label-0'],
      requester: 'test',
      attributes: { text: pad(1_800) },
      leaseMs: 30 * 24 * 3_600_000,
    };
    if (number === 300 || refuseRequests(pool, [demand]) !== undefined) break;
    addRequest(pool, demand, now);
    if (number % 2 === 0) endRequest(pool, demand.id, 'returned', now);
    else
      pool.requests[demand.id] = {
        ...(pool.requests[demand.id] as (typeof pool.requests)[string]),
        state: 'failed',
        declined: { main: pad(500) },
        waits: pad(500),
      };
  }
  for (let number = 0; nodesLeft(pool) > 0; number += 1) {
    const label = `label-${number % 100}`;
    const { id } = makeNode(pool, {}, { providerPool: 'main', label, now });
    const payload = { providerid: `m-${number}`, text: pad(4_000) };
    const full = lacksPoolRoom(pool, id, payload) !== undefined;
    changePoolNode(pool, id, (node) => ({
      ...node,
      machine: {
        ...node.machine,
        placement: { ...placement, fields },
        payload: full ? {} : payload,
        facts: { machine: pad(18), CREATE: true, CONFIRM: true, services: {} },
      },
    }));
    nodeBuilt(pool, id, now);
    holdNode(pool, id, { by: 'test', comment: 'full' }, now);
  }
  pool.failures = Object.fromEntries(offers.map((name) => [`main/${name}`, { why: pad(500), at: now }]));
  pool.launchTimes = Object.fromEntries(
    offers.map((name) => [`main/${name}`, { acceptedMs: 1, readyMs: 1 }]),
  );
  return packPool(pool);
}

function fullMachine(): MachineState {
  const intent = {
    kind: 'move',
    to: { provider: 'local', fields: { text: pad(65_000) } },
  } as const satisfies MachineIntent;
  if (refuseLargeIntent('full', intent) !== undefined) throw new Error('the intent is too large');
  const operation = (number: number): MachineOperation => ({
    id: `${number}`,
    intent,
    by: 'x'.repeat(200),
    state: 'failed',
    startedAt: at,
    endedAt: at,
    failure: longFailure as never,
    notes: many(20, () => pad(2_000)),
  });
  return {
    stateVersion: 1,
    name: 'full',
    uid: 'u',
    registration: {
      provider: 'local',
      flavor: 'small',
      image: 'host',
      fields: { text: pad(65_000) },
      system: 'linux',
      groups: many(20, () => 'x'.repeat(40)),
      labels: Object.fromEntries(many(20, (number) => [`label-${number}`, 'x'.repeat(63)])),
    },
    account: { type: 'local', site: 'default', flavor: 'small', image: 'host', can: [] },
    state: 'maintenance',
    why: pad(2_000),
    payload: { text: pad(maxPayloadBytes - 20) },
    access: { user: 'test', login: 'hd-test', publicKey: pad(16_000) },
    quarantine: { by: 'test', comment: pad(500), since: at },
    history: many(20, operation).reduce(rememberOperation, [] as readonly MachineOperation[]),
    operations: 20,
    measured: {},
    hardware: {
      at,
      parts: many(256, (number) => ({ name: pad(200, number), model: pad(200), serial: pad(200) })),
    },
  };
}

function fullImage(): ImageState {
  const { history: _history, hardware: _hardware, ...machine } = fullMachine();
  let state: ImageState = {
    stateVersion: 1,
    name: 'full',
    uid: 'u',
    builds: [],
    numbers: 0,
    machines: many(2, (number) => ({ ...machine, name: `full-${number}`, history: [] })),
    // It carries out nothing meanwhile.
    exported: { id: 'x', by: 'test', at: 0 },
    published: {
      version: 1,
      offers: {},
      watchers: Object.fromEntries(many(1_000, (number) => [`pool/${pad(60, number)}`, 1])),
    },
    pausedUploads: Object.fromEntries(
      many(50, (number) => [`account-${number}`, { by: 'x'.repeat(200), at }]),
    ),
  };
  while (refuseBuild(state) === undefined) {
    const number = state.numbers + 1;
    const build: ImageState['builds'][number] = {
      number,
      state: 'deleting',
      startedAt: at,
      why: pad(2_000),
      files: many(10, () => ({ format: 'raw', path: pad(200), sha256: pad(66), bytes: 1, site: 'default' })),
      uploads: many(50, (upload) => ({
        provider: `account-${upload}`,
        type: 'local',
        site: 'default',
        state: 'deleting',
        image: pad(200),
        why: pad(2_000),
      })),
      provenance: { recipe: pad(66), source: pad(200), by: 'test' },
      notes: many(20, () => pad(2_000)),
    };
    state = { ...state, numbers: number, builds: [build, ...state.builds] };
  }
  return state;
}

function fullReservations(): object {
  const from = Date.now() + 300 * 24 * 3_600_000;
  let state = newReservations('u');
  for (let number = 0; number < 500; number += 1) {
    const base = {
      machine: '',
      uid: pad(38),
      defaultImage: { name: 'image', revision: '1' },
      stage: 'booked',
      asked: 0,
      tries: 0,
    } satisfies Assignment;
    const assignments = many(maxAssignments / 500, (machine) => ({
      ...base,
      machine: `machine-${4 * number + machine}`,
    }));
    let reservation: Reservation = {
      id: `r${number + 1}`,
      user: pad(100),
      image: { name: 'image', revision: '1' },
      from,
      to: from + 3_600_000,
      by: pad(200),
      askedAt: 0,
      wanted: { count: assignments.length, labels: { team: pad(60) } },
      settings: { prepareMs: 1, remindMs: 1, longestMs: 1e10 },
      assignments,
      tried: many(mostMachines, (tried) => `machine-${10_000 + tried}`),
      notes: [],
    };
    for (let note = 0; note < 20; note += 1) reservation = withNote(reservation, 0, pad(1_000));
    for (const assignment of assignments)
      reservation = withAssignment(reservation, { ...assignment, why: pad(1_000), notBefore: from });
    state = tell(
      withReservation({ ...state, numbers: number + 1 }, reservation),
      'attention',
      reservation,
      pad(3_000),
      0,
    );
  }
  return packReservations(state);
}

function fullCatalogue(): Catalogue {
  let catalogue: Catalogue = {};
  for (let number = 0; ; number += 1) {
    const put = {
      name: `resource-${number % 500}`,
      digest: `sha256:${String(number).padStart(64, '0')}`,
      format: 'file',
      bytes: 1,
      parts: 1,
      by: '\u0001'.repeat(200),
    } as const;
    // Asking takes milliseconds.
    if (number > 1_150 && refusePut(catalogue, put) !== undefined) return catalogue;
    ({ catalogue } = putVersion(catalogue, put, at));
  }
}

/** By the type of the workflow: the state, and the id of a workflow that has it. */
export const filled = {
  cluster: { id: 'cluster/full', carried: () => packCluster(fullClusterState()) },
  group: { id: 'cluster/full/group/1', carried: fullGroup },
  pool: { id: 'pool/full', carried: fullPool },
  machine: { id: 'machine/full', carried: fullMachine },
  image: { id: 'image/full', carried: fullImage },
  reservations: { id: 'reservations', carried: fullReservations },
  artifacts: { id: 'artifacts', carried: fullCatalogue },
  claims: {
    id: 'claims/full',
    carried: () =>
      Object.fromEntries(many(14_000, (number) => [`machine-${number}`, `key-${number}`.padEnd(80, 'k')])),
  },
  lock: { id: 'lock/full', carried: () => ({ holder: 'x'.repeat(200), until: 8e15 }) },
  rateLimiter: { id: 'rate-limiter/full', carried: () => 8e15 },
} as const satisfies Readonly<
  Record<keyof typeof bounds, { readonly id: string; readonly carried: () => unknown }>
>;
