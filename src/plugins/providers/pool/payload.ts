import type { JsonObject } from '../../../model/json.js';
import { reservedKeysIn } from '../../../model/node/result-table.js';
import type { GrantedNode } from '../../../model/pool/view.js';

/** The cluster's node has its own. */
const own = ['hostname', 'providerid'];

/** The pool node's data for the cluster's node; `pool` names the pool's node. */
export function payloadOf(pool: string, { id, label, attributes, payload }: GrantedNode): JsonObject {
  const kept = [...own, ...reservedKeysIn(payload)];
  const { providerid } = payload;
  const known = Object.entries(payload).filter(([key]) => !kept.includes(key));
  return {
    ...Object.fromEntries(known),
    pool: { name: pool, node: id, label, attributes, ...(providerid === undefined ? {} : { providerid }) },
  };
}
