import { isJsonObject, type Json, type JsonObject } from '../json.js';

const secretKey = /password|passwd|passphrase|secret|token|private.?key|api.?key|credential/i;
const placeholder = '(secret)';

/** Whether a key names a secret, such as `password`. */
export function isSecretName(key: string): boolean {
  return secretKey.test(key);
}

/**
 * A copy of a node's payload for people: secrets, marked or by name, are replaced. Addresses, users and
 * public host keys stay.
 */
export function stripSecrets(payload: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(payload).map(([key, value]) => [key, stripValue(key, value)]));
}

function stripValue(key: string, value: Json): Json {
  if (isSecretName(key) && value !== null) return placeholder;
  if (Array.isArray(value)) return value.map((item: Json) => stripValue('', item));
  if (!isJsonObject(value)) return value;
  // A reference names the place of a secret, or contains one by mistake.
  if (Object.hasOwn(value, 'secret')) return placeholder;
  const { key: login, ...rest } = key === 'ssh-auth' ? value : { ...value, key: undefined };
  return login === undefined ? stripSecrets(value) : { ...stripSecrets(rest), key: placeholder };
}

/** Whether a text contains a private key in PEM form. */
export function holdsPrivateKey(text: string): boolean {
  return text.includes('PRIVATE KEY-----');
}
