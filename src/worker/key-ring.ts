import type { Config } from '../config/index.js';
import { openKeyRing, parseKeyRing, type KeyRing } from '../secrets/keys.js';

/** The keys in HEDDLE_KEYS, or those in the key folder. @throws KeyError if there are none. */
export function keyRingOf({ exportedKeys, keys }: Config): KeyRing {
  return exportedKeys === undefined
    ? openKeyRing({ folder: keys.folder, create: false })
    : parseKeyRing(exportedKeys, 'HEDDLE_KEYS');
}
