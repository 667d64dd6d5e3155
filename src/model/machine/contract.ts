import { asked, carried, groups, image, labels, who } from '../argument-shapes.js';
import { replies, row, type Contract, type RequestOf } from '../contract.js';
import { disownRow, leasedRow, ownersRow, periodicCheckRow } from '../shared-messages.js';
import { id, jsonObject, nullable, object, oneOf, optional, text, withField, type Shape } from '../shape.js';
import type { JsonObject } from '../json.js';
import type { MachineView } from '../../schema/output/machine.js';
import type { MachineAccess } from './access.js';
import type { Knowledge } from './answer.js';
import type { UnneededLoad } from './decide.js';
import { driftList, machineIntent, nodeIntent } from './intents.js';
import type { Registration } from './state.js';

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
          intent: machineIntent,
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
      intent: nodeIntent,
      by: who(),
    }),
  ],
  updates: { cancel: cancelRow },
  signals: {},
  queries: { status: statusRow, payload: payloadOfMachineRow, leased: leasedRow },
} satisfies Contract;

export type MachineRequest = RequestOf<typeof machineContract.updates.operate>;

function registration(): Shape<Registration> {
  return object({
    provider: text(200),
    flavor: text(200, 0),
    image: text(1_000, 0),
    fields: jsonObject(65_536),
    system: nullable(text(200)),
    defaultImage: optional(image()),
    correct: optional(driftList),
    groups: optional(groups()),
    labels: optional(labels()),
  });
}
