import type { Config } from '../config/index.js';
import { openKeyRing, parseKeyRing, type KeyRing } from '../secrets/keys.js';

/** The keys in HEDDLE_KEYS, or those in the key folder. @throws KeyError if there are none. */
export function keyRingOf({ keys, keyFolder }: Config): KeyRing {
  return keys === undefined
    ? openKeyRing({ folder: keyFolder, create: false })
    : parseKeyRing(keys, 'HEDDLE_KEYS');
}
