import { asked, carried, groups, image, labels, milliseconds, who } from '../argument-shapes.js';
import { maxLabels } from '../cluster/labels.js';
import { replies, row, type Contract, type RequestOf } from '../contract.js';
import { disownRow, leasedRow, ownersRow, periodicCheckRow } from '../shared-messages.js';
import {
  flag,
  id,
  jsonObject,
  list,
  nullable,
  object,
  oneOf,
  optional,
  text,
  variants,
  withField,
  yes,
  type Fields,
  type Shape,
} from '../shape.js';
import type { JsonObject } from '../json.js';
import type { MachineView } from '../../schema/output/machine.js';
import type { MachineAccess } from './access.js';
import type { Knowledge } from './answer.js';
import { bootDevices } from './boot.js';
import type { UnneededLoad } from './decide.js';
import { nodeIntents } from './node-machine.js';
import { longestComment } from './quarantine.js';
import { driftKinds, powerVerbs, type DriftKind, type MachineIntent, type Registration } from './state.js';

export interface MachineReply {
  readonly operation: string;
}

const cancelRow = row('Cancel the operation under way.', [asked()], replies<MachineReply>());
const statusRow = row('State, operation under way and history, without secrets.', [], replies<MachineView>());
const payloadOfMachineRow = row(
  'The payload, credentials included.',
  [optional(text(200))],
  replies<JsonObject | null>(),
);

export const machineContract = {
  ids: /^machine\/[^/]+$/,
  start: [
    withField<unknown, unknown>(
      { carried: carried({ name: text(200), uid: text(100) }) },
      object({ registration: registration(), uid: text(100), by: who() }),
    ),
  ],
  updates: {
    operate: row(
      'Status, power, load, capture, unload, reserve, maintain, remove.',
      [
        object({
          intent: machineIntent(),
          by: who(),
          /** The reservation that requests it. */
          holder: optional(id()),
          /** Of several requests with this key only the first counts. */
          key: optional(text(500)),
        }),
      ],
      replies<MachineReply>(),
    ),
    cancel: cancelRow,
    stopUnneeded: row(
      'End the load of a request that is no longer needed, unless it writes.',
      [object({ key: text(500) })],
      replies<UnneededLoad>(),
    ),
    askImage: row(
      'Whether the machine could load an image; it need not be idle.',
      [image()],
      replies<Knowledge>(),
    ),
    disown: disownRow,
  },
  signals: { check: periodicCheckRow },
  queries: {
    status: statusRow,
    payload: payloadOfMachineRow,
    access: row(
      'How its user logs in; null if the machine is not for the reservation, or not open to its user.',
      [
        object({
          /** Absent for a user that an administrator let in. */
          reservation: optional(id()),
        }),
      ],
      replies<MachineAccess | null>(),
    ),
    owners: ownersRow,
  },
} satisfies Contract;

/** The machine of a node. */
export const nodeMachineContract = {
  ids: /^machine\/([^/]+|pool\/[^/]+)\/[^/]+$/,
  start: [
    object({
      node: object({ of: oneOf('cluster', 'pool'), name: text(200), node: id() }),
      intent: variants('kind', nodeMachineIntents()),
      by: who(),
    }),
  ],
  updates: { cancel: cancelRow },
  signals: {},
  queries: { status: statusRow, payload: payloadOfMachineRow, leased: leasedRow },
} satisfies Contract;

export type MachineRequest = RequestOf<typeof machineContract.updates.operate>;

function drift(): Shape<readonly DriftKind[]> {
  return list(oneOf(...driftKinds), driftKinds.length);
}

function registration(): Shape<Registration> {
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

function machineIntent(): Shape<MachineIntent> {
  return variants('kind', machineIntents());
}

function machineIntents() {
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

function nodeMachineIntents(): Readonly<Record<string, Fields>> {
  const all = machineIntents();
  return Object.fromEntries(nodeIntents.map((kind) => [kind, all[kind] ?? {}]));
}
