import { maxLabels } from '../cluster/labels.js';
import { longestComment } from '../machine/quarantine.js';
import { bootDevices } from '../machine/boot.js';
import { driftKinds, powerVerbs } from '../machine/state.js';
import { nodeIntents } from '../machine/node-machine.js';
import { maxNodesOfRequest } from '../pool/check-demand.js';
import { resourceFormats } from '../artifact/reference.js';
import {
  anything,
  count,
  flag,
  id,
  jsonObject,
  list,
  nullable,
  number,
  object,
  oneOf,
  optional,
  outline,
  record,
  text,
  variants,
  yes,
  type Fields,
  type Shape,
} from './shape.js';

/** The shapes of a message's arguments, in order. */
export type Arguments = readonly Shape[];

export interface WorkflowMessages {
  /** The workflow ids that messages to it are sent to. */
  readonly ids: RegExp;
  readonly start: Arguments;
  readonly updates: Readonly<Record<string, Arguments>>;
  readonly signals: Readonly<Record<string, Arguments>>;
  readonly queries: Readonly<Record<string, Arguments>>;
}

/** A message that carries only the requester. */
export function asked(more: Fields = {}): Shape {
  return object({ by: who(), ...more });
}

export function who(): Shape {
  return text(200);
}

export function workflowId(): Shape {
  return text(1_000);
}

/** Milliseconds since the epoch. */
export function moment(): Shape {
  return number(0, 8.64e15);
}

export function milliseconds(): Shape {
  return number(0, 30 * 24 * 3_600_000);
}

/** Checked by the planner, against what workers have. */
export function spec(): Shape {
  return jsonObject(1_500_000);
}

export function carried(fields: Fields): Shape {
  return object({ carried: outline(fields) });
}

export function machines(): Shape {
  return list(outline({ key: text(500), providerid: text(1_000, 0) }), 100_000);
}

export function peersRequest(): Shape {
  return object({ since: count(), after: optional(id()) });
}

export function groupReport(): Shape {
  const batchSlots = list(outline({ batchSlot: text(1_000), nodeId: id() }), 10_000);
  const failure = outline({
    failure: outline({
      nodeId: id(),
      action: text(50),
      kind: text(200),
      message: text(1_000, 0),
      at: text(40),
    }),
    group: id(),
    remaining: list(outline({}), 10_000),
  });
  return outline({
    groupUid: text(100),
    seq: count(),
    at: count(),
    group: id(),
    seen: count(),
    incarnation: count(),
    peersVersion: count(),
    quiet: flag,
    over: flag,
    counts: record(count(1_000_000), 100_000),
    announced: list(text(200), 100_000),
    tasks: outline({ total: number(-1e9, 1e9), done: number(-1e9, 1e9), failed: number(-1e9, 1e9) }),
    asks: batchSlots,
    leaves: batchSlots,
    failures: list(failure, 10_000),
    abandoned: list(text(2_000), 10_000),
    summary: optional(
      outline({
        rows: list(outline({}), 10_000),
        members: record(list(anything, 10_000), 10_000),
        failed: count(),
        excluded: count(),
      }),
    ),
  });
}

export function instruction(): Shape {
  const names = list(text(1_000), 100_000);
  return variants(
    'do',
    {
      begin: { operation: id(), fresh: flag, toReplace: names, probe: flag, retriedAt: optional(count()) },
      work: {
        work: outline({
          operation: id(),
          kinds: outline({
            kinds: list(outline({ chain: list(count(), 100_000) }), 100_000),
            steps: list(outline({}), 100_000),
            waits: list(names, 100_000),
          }),
          placements: outline({}),
          positions: outline({}),
        }),
        nodenums: outline({}),
        incarnation: count(),
        services: outline({}),
        config: outline({}),
        limits: outline({}),
      },
      probe: {},
      open: { gates: names, batchSlots: list(outline({ batchSlot: text(1_000), nodeId: id() }), 100_000) },
      exclude: { nodeId: id() },
      abandon: { nodeId: id(), by: text(500) },
      pause: { paused: flag },
      halt: {
        how: oneOf('stop', 'cancel'),
        discard: optional(outline({ operation: id(), nodes: optional(names) })),
      },
      end: {},
    },
    outline,
  );
}

export function demand(): Shape {
  return object({
    id: text(200),
    labels: list(text(200, 0), maxNodesOfRequest, 1),
    requester: text(200),
    priority: optional(count(1_000_000)),
    attributes: optional(jsonObject(8_192)),
    tenant: optional(text(200)),
    providerPool: optional(text(200)),
    leaseMs: optional(count(30 * 24 * 3_600_000, 1_000)),
    heldMs: optional(count(24 * 3_600_000, 1_000)),
    tags: optional(record(text(2_048, 0), 100)),
  });
}

export function requestIds(): Shape {
  return list(text(200), 100_000);
}

export function imageUpdate(): Shape {
  return object({
    image: text(200),
    uid: text(100),
    version: count(),
    offers: record(object({ build: count(), image: text(1_000) }), 10_000),
    gone: optional(yes),
  });
}

/** A machine image and its revision. */
export function image(): Shape {
  return object({ name: text(100), revision: text(100) });
}

export function registration(): Shape {
  return object({
    provider: text(200),
    flavor: text(200, 0),
    image: text(1_000, 0),
    fields: jsonObject(65_536),
    system: nullable(text(200)),
    defaultImage: optional(image()),
    correct: optional(drift()),
    groups: optional(groups()),
    labels: optional(labels()),
  });
}

function groups(): Shape {
  return list(text(40), 20);
}

function labels(): Shape {
  return record(text(63), maxLabels);
}

function drift(): Shape {
  return list(oneOf(...driftKinds), driftKinds.length);
}

export function machineIntents(): Readonly<Record<string, Fields>> {
  const force = optional(yes);
  const withinMs = optional(milliseconds());
  const user = text(100);
  return {
    register: {},
    retry: {},
    status: { image: optional(image()), logIns: optional(yes) },
    power: { verb: oneOf(...powerVerbs) },
    boot: { device: oneOf(...bootDevices) },
    load: { image: image(), force, withinMs, only: optional(oneOf('post-load')) },
    capture: { image: image(), prove: flag, withinMs },
    unload: {},
    reserve: { user },
    'log in': { user, publicKey: optional(text(16_384)) },
    'time out': {},
    release: {},
    hold: { reservation: id(), user, until: text(40) },
    'let go': {},
    maintain: { reason: text(1_000, 0) },
    restore: {},
    correct: { drift: drift() },
    group: { groups: groups() },
    label: { labels: labels(), remove: list(text(40), maxLabels) },
    quarantine: { comment: text(longestComment) },
    'end quarantine': {},
    move: {
      to: object({
        provider: text(200),
        flavor: optional(text(200, 0)),
        image: optional(text(1_000, 0)),
        fields: optional(jsonObject(65_536)),
      }),
    },
    remove: { force },
  };
}

export function nodeMachineIntents(): Readonly<Record<string, Fields>> {
  const all = machineIntents();
  return Object.fromEntries(nodeIntents.map((kind) => [kind, all[kind] ?? {}]));
}

export function wanted(): Shape {
  return object({
    count: number(-1e9, 1e9),
    machines: optional(list(text(200), 1_000)),
    site: optional(text(200)),
    provider: optional(text(200)),
    type: optional(text(200)),
    can: optional(list(text(100), 100)),
    group: optional(text(40)),
    labels: optional(labels()),
  });
}

/** A stored content of a resource. */
export function content(): Fields {
  return { digest: text(100), format: oneOf(...resourceFormats), bytes: count(), parts: count() };
}
