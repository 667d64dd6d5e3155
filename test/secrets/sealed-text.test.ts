import { expect, it } from 'vitest';
import { formatKeys, generateKey } from '../../src/secrets/key-document.js';
import { KeyError, parseKeyRing, type KeyRing } from '../../src/secrets/keys.js';
import { openText, sealText } from '../../src/secrets/sealed-text.js';

function ringWithOneKey(): KeyRing {
  const key = generateKey();
  return parseKeyRing(formatKeys({ current: key.id, keys: [key] }), 'the test');
}

it('a sealed text is opened with its key and purpose alone, and not after a change', () => {
  const ring = ringWithOneKey();
  const sealed = sealText(ring, 'records', 'secret: 42');
  expect(openText(ring, 'records', `${sealed}\n`)).toBe('secret: 42');
  expect(Buffer.from(sealed.split(':')[2] ?? '', 'base64').toString('latin1')).not.toContain('secret');
  expect(() => openText(ring, 'others', sealed)).toThrow(KeyError);
  expect(() => openText(ringWithOneKey(), 'records', sealed)).toThrow(KeyError);
  const last = sealed.at(-10) === 'A' ? 'B' : 'A';
  expect(() => openText(ring, 'records', sealed.slice(0, -10) + last + sealed.slice(-9))).toThrow(KeyError);
});
