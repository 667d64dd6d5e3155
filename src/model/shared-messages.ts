import { machines } from './argument-shapes.js';
import { replies, row } from './contract.js';
import type { JsonObject } from './json.js';
import type { NodeReply } from './node/lease.js';
import type { Ownership } from './node/ownership.js';
import { id, text } from './shape.js';

/** Messages that workflows of several types take. */

export const nodeRow = row(
  'A node, credentials included, for a workflow that works on it.',
  [id()],
  replies<NodeReply>(),
);

export const payloadRow = row(
  "A node's payload, credentials included; null for an unknown node.",
  [id()],
  replies<JsonObject | null>(),
);

/** For the sweep. */
export const ownersRow = row('The owners of machines.', [machines()], replies<readonly Ownership[]>());

export const disownRow = row(
  'Report the owners of machines; keys of machines without owner are never used again.',
  [machines()],
  replies<readonly Ownership[]>(),
);

export const leasedRow = row(
  'Whether the workflow still works on a node that it leases.',
  [text(200)],
  replies<boolean>(),
);

export const usedResourcesRow = row(
  'Digests of the resources that it uses, may return to, or is requested to use.',
  [],
  replies<readonly string[]>(),
);

export const periodicCheckRow = row('The periodic check is due.', []);
