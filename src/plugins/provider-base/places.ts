import { readMachineKey } from '../../model/names.js';

/**
 * Where a machine is requested: neighbouring nodes of a group in different places, and the next
 * incarnation of a node in the place after the one that may have had no room. The key alone
 * decides, so that a repeated request is the same one.
 */
export function placeOf<Place>(places: readonly Place[], key: string): Place | undefined {
  const { nodeId = '', incarnation = 1 } = readMachineKey(key) ?? {};
  const number = Number(/-(\d{1,9})$/.exec(nodeId)?.[1] ?? 1);
  // -1 for the first machine of number 0.
  return places.at((number + incarnation - 2) % places.length);
}
