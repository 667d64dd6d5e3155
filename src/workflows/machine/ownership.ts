import { firstIncarnation } from '../../model/machine/assigned.js';
import type { MachineState } from '../../model/machine/state.js';
import { readMachineKey } from '../../model/names.js';
import { ownershipOf, type NamedMachine, type Ownership } from '../../model/node/ownership.js';

/** No key of a machine comes back. */
export function ownershipInMachines(machines: readonly MachineState[], named: NamedMachine): Ownership {
  const { clusterUid: uid = '', nodeId = '' } = readMachineKey(named.key) ?? {};
  const nodes = machines
    .filter((machine) => machine.uid === uid && machine.name === nodeId)
    .map(({ incarnation = firstIncarnation, incarnations: incarnationFloor, moving, payload }) => {
      return [nodeId, { incarnation, incarnationFloor, moving, payload }] as const;
    });
  return ownershipOf({ nodes: Object.fromEntries(nodes), uid, incarnation: Infinity }, named);
}
