import type { contracts } from '../../../src/model/messages/table.js';

type Table = typeof contracts;

/** Arguments that each message accepts. A message of the table without a sample is a type error. */
export type SampleMessages = {
  readonly [Type in keyof Table]: {
    readonly workflowId: string;
    readonly start: readonly unknown[];
    readonly updates: { readonly [Name in keyof Table[Type]['updates']]: readonly unknown[] };
    readonly signals: { readonly [Name in keyof Table[Type]['signals']]: readonly unknown[] };
    readonly queries: { readonly [Name in keyof Table[Type]['queries']]: readonly unknown[] };
  };
};

const by = 'mallory';
const asked = { by };
const uid = 'uid-1';
const image = { name: 'web', revision: '1' };
/** Later than the begin of the group: it takes no older instructions. */
const instructedAt = Date.now() + 24 * 3_600_000;
const machines = [{ key: 'uid-1/app-1/1', providerid: 'i-1' }];
const content = { digest: `sha256:${'0'.repeat(64)}`, format: 'file', bytes: 4, parts: 1 };
const registration = { provider: 'local', flavor: 'small', image: 'host', fields: {}, system: null };
const wanted = { count: 1 };
const tasks = { total: 1, done: 0, failed: 0 };
const report = {
  groupUid: uid,
  seq: 1,
  at: 1,
  group: '1',
  seen: 1,
  incarnation: 900,
  peersVersion: 1,
  quiet: true,
  over: true,
  counts: {},
  announced: ['web'],
  tasks,
  asks: [],
  leaves: [],
  failures: [],
  abandoned: [],
};

/** Each would do something if a workflow acted on it. */
export const samples: SampleMessages = {
  cluster: {
    workflowId: 'cluster/web',
    start: [{ name: 'web' }],
    updates: {
      apply: [{ spec: { name: 'web' }, by }],
      delete: [asked],
      operate: [{ intent: { kind: 'restart', services: [] }, by, queue: true }],
      retry: [asked],
      cancel: [asked],
      pause: [asked],
      resume: [asked],
      abandon: [{ by, nodeId: 'app-1' }],
      check: [],
      lease: [{ nodeId: 'app-1', leaseId: 'l', to: 'image/web' }],
      disown: [machines],
    },
    signals: {
      requestDelete: [asked],
      release: [{ leaseId: 'l', repair: true }],
      report: [report],
      readOutputs: [{ cluster: 'web', values: { url: 'x' } }],
      outputsChanged: [],
    },
    queries: {
      status: [],
      peers: [{ since: 0 }],
      usedResources: [],
      current: [],
      spec: ['present'],
      payload: ['app-1'],
      outputs: [],
      sources: [],
      node: ['app-1'],
      owners: [machines],
    },
  },
  group: {
    workflowId: 'cluster/web/group/1',
    start: [
      { cluster: 'web', clusterUid: uid, group: '1', uid, operation: '1-x', limits: { inlineNodes: 1 } },
    ],
    updates: { disown: [machines] },
    signals: {
      instruct: [{ groupUid: uid, seq: 1, at: instructedAt, peersVersion: 7, list: [{ do: 'end' }] }],
    },
    queries: { nodes: [], payload: ['app-1'], node: ['app-1'], owners: [machines], peers: [{ since: 0 }] },
  },
  plan: {
    workflowId: 'plan/web/1',
    start: [{ clusterName: 'web', intent: { kind: 'delete' }, current: {} }],
    updates: {},
    signals: {},
    queries: {},
  },
  pool: {
    workflowId: 'pool/ci',
    start: [{ heddle: { uid } }],
    updates: {
      configure: [{ spec: { name: 'ci' }, by }],
      request: [[{ id: 'r', labels: ['a'], requester: by }]],
      end: [{ ids: ['r'], how: 'returned' }],
      renew: [['r']],
      priority: [{ id: 'r', priority: 1 }],
      hold: [{ nodeId: 'a-1', by, comment: 'look' }],
      endHold: [{ nodeId: 'a-1' }],
      deleteNodes: [{ nodeIds: ['a-1'], by }],
      deletePool: [asked],
      export: [{ by }],
      disown: [machines],
    },
    signals: {
      imageUpdate: [{ image: 'web', uid, version: 1, offers: { local: { build: 1, image: 'i' } } }],
    },
    queries: {
      pool: [],
      spec: [],
      failures: [],
      requests: [{ since: 0 }],
      nodes: [''],
      waiting: [],
      records: [],
      allocated: [''],
      payload: ['a-1'],
      node: ['a-1'],
      owners: [machines],
    },
  },
  machine: {
    workflowId: 'machine/rack',
    start: [{ registration, uid, by }],
    updates: {
      operate: [{ intent: { kind: 'remove', force: true }, by }],
      cancel: [asked],
      stopUnneeded: [{ key: 'u/r1/1/load' }],
      askImage: [image],
      disown: [machines],
    },
    signals: { check: [] },
    queries: { status: [], payload: ['rack'], access: [{}], owners: [machines] },
  },
  nodeMachine: {
    workflowId: 'machine/web/app-1',
    start: [{ node: { of: 'cluster', name: 'web', node: 'app-1' }, intent: { kind: 'status' }, by }],
    updates: { cancel: [asked] },
    signals: {},
    queries: { status: [], payload: ['app-1'], leased: ['l'] },
  },
  image: {
    workflowId: 'image/web',
    start: [{ uid }],
    updates: {
      configure: [{ spec: { name: 'web' }, by }],
      build: [asked],
      cancel: [asked],
      rollback: [asked],
      upload: [asked],
      pause: [asked],
      resume: [asked],
      delete: [asked],
      export: [asked],
      disown: [machines],
    },
    signals: { check: [], watch: [{ workflowId: 'pool/ci' }] },
    queries: { image: [], spec: [], records: [], usedResources: [], leased: ['l'], owners: [machines] },
  },
  reservations: {
    workflowId: 'reservations',
    start: [{ uid }],
    updates: {
      reserve: [{ user: by, image, to: 4e12, wanted, by }],
      extend: [{ id: 'r1', to: 4e12, by }],
      cancel: [{ id: 'r1', by }],
      return: [{ id: 'r1', by }],
      logIn: [{ id: 'r1', by }],
    },
    signals: {},
    queries: { reservation: ['r1'], reservations: [{}] },
  },
  artifacts: {
    workflowId: 'artifacts',
    start: [{ carried: {} }],
    updates: {
      put: [{ name: 'keys', by, ...content }],
      set: ['keys', null],
      rollback: ['keys'],
      prune: [{ used: [], before: '2030-01-01T00:00:00Z' }],
    },
    signals: {},
    queries: { catalogue: [] },
  },
  artifactPart: {
    workflowId: 'artifact/sha256:0/0',
    start: [{ ...content, part: 0 }, 'AA=='],
    updates: {},
    signals: { keep: [], drop: [] },
    queries: {},
  },
  revision: {
    workflowId: 'cluster/web/revision/1-abc',
    start: [{ carried: { cluster: 'web', clusterUid: uid, number: 1, spec: { name: 'web' } } }],
    updates: {},
    signals: { drop: [] },
    queries: { spec: [], usedResources: [] },
  },
  lock: {
    workflowId: 'lock/local',
    start: [{ carried: { holder: 'x', until: 1 } }],
    updates: { take: [{ holder: 'x', leaseMs: 60_000, waitMs: 0 }], release: ['x'] },
    signals: {},
    queries: {},
  },
  rateLimiter: {
    workflowId: 'rate-limiter/local',
    start: [{ carried: 0 }],
    updates: { take: [{ count: 1, everyMs: 1 }] },
    signals: {},
    queries: {},
  },
  claims: {
    workflowId: 'claims/local',
    start: [{ carried: { m: 'k' } }],
    updates: { claim: [{ take: [{ key: 'k', candidates: 0 }], candidates: [['m', 'n']], release: ['j'] }] },
    signals: {},
    queries: { held: [] },
  },
  delivery: {
    workflowId: 'delivery/u_1/operation.done/ops',
    start: [
      {
        webhook: 'ops',
        event: { id: 'u_1', type: 'operation.done', timestamp: '2026-11-25T00:00:00.000Z', data: {} },
      },
    ],
    updates: {},
    signals: {},
    queries: {},
  },
  sweep: {
    workflowId: 'sweep',
    start: [{ policy: { minimumAgeMs: 0, cap: 9, delete: true } }],
    updates: {},
    signals: {},
    queries: {},
  },
  periodicChecks: { workflowId: 'periodic-checks', start: [], updates: {}, signals: {}, queries: {} },
};
