import type { bounds } from '../../../src/model/bounds.js';
import { refusePut, putVersion, type Catalogue } from '../../../src/model/artifact/state.js';
import { packCluster } from '../../../src/model/cluster/carry.js';
import { refuseBuild } from '../../../src/model/image/room.js';
import type { ImageState } from '../../../src/model/image/state.js';
import { refuseLargeIntent, rememberOperation } from '../../../src/model/machine/remember.js';
import type { MachineIntent } from '../../../src/model/machine/intents.js';
import type { MachineOperation, MachineState } from '../../../src/model/machine/state.js';
import { maxPayloadBytes } from '../../../src/model/node/payload.js';
import { packReservations } from '../../../src/model/reservation/carry.js';
import { maxAssignments, mostMachines } from '../../../src/model/reservation/check.js';
import { withNotification } from '../../../src/model/reservation/notification.js';
import {
  newReservations,
  withAssignment,
  withNote,
  withReservation,
  type Assignment,
  type Reservation,
} from '../../../src/model/reservation/state.js';
import { fullClusterState, fullGroup } from './filled-clusters.js';
import { at, longFailure, many, pad, specOf } from './filler.js';
import { fullPool } from './filled-pool.js';

/*
 * Each long-lived workflow at all of its limits at once. Where the model decides what is taken, it is asked until it
 * refuses.
 */

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
    state = withNotification(
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
  revision: {
    id: 'cluster/full/revision/1-abc',
    carried: () => ({ cluster: 'full', clusterUid: 'u', number: 1, spec: specOf('full', 1) }),
  },
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
