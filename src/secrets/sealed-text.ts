import { gunzipSync, gzipSync } from 'node:zlib';
import { decrypt, encrypt } from './cipher.js';
import { isKeyId } from './key-document.js';
import { KeyError, type KeyRing } from './keys.js';

/** The version, the id of the key, and the encrypted text in base64: `heddle1:k0123abcd:...`. */
const format = /^heddle1:([^:]+):([A-Za-z0-9+/]+=*)$/;

/** Encrypts text for a file. It can be decrypted only with the same purpose. */
export function sealText(ring: KeyRing, purpose: string, text: string): string {
  const key = ring.current();
  const sealed = encrypt(key, gzipSync(text), contextOf(purpose));
  return `heddle1:${key.id}:${Buffer.from(sealed).toString('base64')}`;
}

/** @throws KeyError if the key is not in the ring, or the text was altered or has another purpose. */
export function openText(ring: KeyRing, purpose: string, sealed: string): string {
  const [, keyId = '', data = ''] = format.exec(sealed.trim()) ?? [];
  if (!isKeyId(keyId)) throw new KeyError('it is not text that Heddle encrypted');
  const key = ring.find(keyId);
  let plain: Uint8Array;
  try {
    plain = decrypt(key, Buffer.from(data, 'base64'), contextOf(purpose));
  } catch (cause) {
    throw new KeyError('it was altered, or encrypted for another purpose', { cause });
  }
  return gunzipSync(plain).toString('utf8');
}

function contextOf(purpose: string): Uint8Array {
  return Buffer.from(`heddle-text/1 ${purpose}`);
}
