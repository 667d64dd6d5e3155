import { firstIncarnation } from '../../model/machine/assigned.js';
import type { MachineState } from '../../model/machine/state.js';
import { readMachineKey } from '../../model/names.js';
import type { NamedMachine, Ownership } from '../../model/node/ownership.js';

/** A machine that is moved has two keys for the time; no key comes back. */
export function ownershipOf(machines: readonly MachineState[], { key }: NamedMachine): Ownership {
  const named = readMachineKey(key);
  const mine = machines.find(
    ({ uid, name, incarnation: own = firstIncarnation, moving }) =>
      named?.clusterUid === uid &&
      named.nodeId === name &&
      (named.incarnation === own || named.incarnation === moving),
  );
  if (mine === undefined) {
    const isUnmade = machines.some(
      (own) =>
        named?.clusterUid === own.uid &&
        named.nodeId === own.name &&
        named.incarnation >
          Math.max(own.incarnations ?? firstIncarnation, own.incarnation ?? firstIncarnation),
    );
    return { is: isUnmade ? 'unmade' : 'free' };
  }
  const { providerid } = named?.incarnation === mine.moving ? {} : mine.payload;
  return { is: 'mine', ...(typeof providerid === 'string' ? { providerid } : {}) };
}
