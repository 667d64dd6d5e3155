import { KeyError, type KeyRing } from '../secrets/keys.js';
import type { Point } from './metric-table.js';

/** The key ring, with each search for a key that it lacks counted. */
export function countKeyMisses(ring: KeyRing, publish: (points: readonly Point[]) => void): KeyRing {
  const count = (value: number): void => publish([{ name: 'heddle_key_misses', tags: {}, value }]);
  // An alert on an increase needs a value before the first miss.
  count(0);
  return {
    get source() {
      return ring.source;
    },
    current: () => ring.current(),
    list: () => ring.list(),
    find: (id) => {
      try {
        return ring.find(id);
      } catch (error) {
        if (error instanceof KeyError) count(1);
        throw error;
      }
    },
  };
}
