import { describe, expect, it } from 'vitest';
import { createRedactor, type Redactor } from '../../src/secrets/redact.js';
import { fc } from '../support/property.js';

const secret = 'p4$$ wörd/+"\\z?';
const key = ['-----BEGIN PRIVATE KEY-----', 'MC4CAQAwBQYDK2VwBCIEIOaaQ7fB', 'xkRk0dQ2pY8m+T/c7w9LkQ==', '-----END PRIVATE KEY-----', ''].join('\n');

describe('createRedactor', () => {
  const redactor = createRedactor([secret, key]);

  it.each([
    ['as it is', secret],
    ['in JSON', JSON.stringify({ a: secret }), '{"a":"(secret)"}'],
    ['in JSON within JSON', JSON.stringify(JSON.stringify(secret)), '"\\"(secret)\\""'],
    ['URL-encoded', encodeURIComponent(secret)],
    ['in a form', new URLSearchParams({ a: secret }).toString(), 'a=(secret)'],
    ['in hexadecimal', Buffer.from(secret).toString('hex')],
    ['in upper-case hexadecimal', Buffer.from(secret).toString('hex').toUpperCase()],
    ['as a key of several lines', key],
    ['as a key with CRLF', key.replaceAll('\n', '\r\n')],
  ])('finds a secret %s', (_, text, expected = '(secret)') => {
    expect(redactor.redact(text)).toBe(expected);
  });

  it.each(['', 'u', 'us', 'usr:'])('finds a secret in base64 after %j', (before) => {
    const text = Buffer.from(`${before}${secret}:after`).toString('base64');
    for (const encoded of [text, text.replaceAll('+', '-').replaceAll('/', '_')]) {
      const shown = redactor.redact(encoded);
      expect(shown).toContain('(secret)');
      // All digits are gone but those that share bits with what stands around.
      const taken = encoded.length - shown.replace('(secret)', '').length;
      expect(taken).toBeGreaterThanOrEqual(Math.floor((Buffer.byteLength(secret) * 8) / 6) - 1);
    }
  });

  it('finds the lines of a key that a tool indented, and leaves its frame', () => {
    expect(redactor.redact(key.replaceAll(/^/gm, '  | '))).toBe('  | -----BEGIN PRIVATE KEY-----\n  | (secret)\n  | (secret)\n  | -----END PRIVATE KEY-----\n  | ');
  });

  it('prefers the longer of two secrets', () => {
    expect(createRedactor(['secret', 'secret-of-old']).redact('a secret-of-old b secret c')).toBe('a (secret) b (secret) c');
  });

  it('says which secrets it cannot look for', () => {
    const mixed = createRedactor(['abc', 'long enough', '']);
    expect(mixed.skipped.map(({ index }) => index)).toEqual([0, 2]);
    expect(mixed.skipped[0]?.reason).toMatch(/fewer than 6/);
    expect(mixed.redact('abc is left, long enough is not')).toBe('abc is left, (secret) is not');
  });

  it('without secrets changes nothing', () => {
    expect(createRedactor([]).redact('anything')).toBe('anything');
    expect(throughStream(createRedactor([]), [Buffer.from('any'), Buffer.from('thing')])).toBe('anything');
  });
});

describe('a redacting stream', () => {
  const letter = fc.constantFrom('a', 'b', 'ä');
  const secrets = fc.array(fc.string({ unit: letter, minLength: 6, maxLength: 9 }), { maxLength: 3 });

  it('finds what stands across chunks, exactly as in the whole text', () => {
    fc.assert(fc.property(secrets, fc.string({ unit: letter, maxLength: 60 }), fc.array(fc.nat(80), { maxLength: 12 }), (hidden, around, cuts) => {
      const text = `${around}${hidden.join('a')}${around}`;
      const redactor = createRedactor(hidden);
      expect(throughStream(redactor, cut(Buffer.from(text), cuts))).toBe(redactor.redact(text));
    }), { numRuns: 500 });
  });

  it('shows nothing of a secret that comes byte by byte', () => {
    const stream = createRedactor([secret]).stream();
    const shown = [...Buffer.from(`a${secret}b`)].map((byte) => stream.push(Buffer.from([byte])).toString());
    expect(shown.join('') + stream.end().toString()).toBe('a(secret)b');
  });

  it('passes bytes that are no text, and holds back only what may become a secret', () => {
    const stream = createRedactor(['hunter2hunter2']).stream();
    const binary = Buffer.from(Array.from({ length: 256 }, (_, index) => index));
    expect(stream.push(binary)).toEqual(binary);
    expect(stream.push(Buffer.from('go hunt')).toString()).toBe('go ');
    expect(stream.push(Buffer.from('ing')).toString()).toBe('hunting');
    expect(stream.end()).toHaveLength(0);
  });
});

function throughStream(redactor: Redactor, chunks: readonly Buffer[]): string {
  const stream = redactor.stream();
  return Buffer.concat([...chunks.map((chunk) => stream.push(chunk)), stream.end()]).toString();
}

function cut(bytes: Buffer, cuts: readonly number[]): readonly Buffer[] {
  const at = [0, ...cuts.map((position) => Math.min(position, bytes.length)).toSorted((a, b) => a - b), bytes.length];
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end));
}
