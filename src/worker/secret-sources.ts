import type { Config } from '../config/index.js';
import { openKeyRing, parseKeyRing, type KeyRing } from '../secrets/keys.js';
import type { SecretSources } from '../secrets/reference.js';

/** The keys in HEDDLE_KEYS, or those in the key folder. @throws KeyError if there are none. */
export function keyRingOf({ keys, keyFolder }: Config): KeyRing {
  return keys === undefined
    ? openKeyRing({ folder: keyFolder, create: false })
    : parseKeyRing(keys, 'HEDDLE_KEYS');
}

/** The environment, and the Vault that Vault's own variables name. */
export function secretSourcesOf({ environment }: Config): SecretSources {
  const { VAULT_ADDR: address, VAULT_TOKEN: token, VAULT_NAMESPACE: namespace } = environment;
  if (address === undefined || token === undefined) return { environment };
  return { environment, vault: { address, token, namespace } };
}
