import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Key } from './keys.js';

const algorithm = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;

/** Encrypts with a random nonce; returns nonce, ciphertext, tag. `context` is authenticated, not stored. */
export function encrypt(key: Key, plain: Uint8Array, context: Uint8Array): Uint8Array {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, key.secret, nonce, { authTagLength: tagBytes });
  cipher.setAAD(context);
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/** @throws Error if the data was altered, or was encrypted for another context. */
export function decrypt(key: Key, sealed: Uint8Array, context: Uint8Array): Uint8Array {
  if (sealed.length < nonceBytes + tagBytes) throw new Error('too short to be encrypted data');
  const decipher = createDecipheriv(algorithm, key.secret, sealed.subarray(0, nonceBytes), {
    authTagLength: tagBytes,
  });
  decipher.setAAD(context);
  decipher.setAuthTag(sealed.subarray(-tagBytes));
  return Buffer.concat([decipher.update(sealed.subarray(nonceBytes, -tagBytes)), decipher.final()]);
}
