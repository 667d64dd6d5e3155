import { describe, expect, it } from 'vitest';
import { formsOf } from '../../src/secrets/encodings.js';
import { createRedactor, type Redactor } from '../../src/secrets/redact.js';
import { fc } from '../harness/property.js';

const secret = 'p4$$ wörd/+"\\z?';
const key = [
  '-----BEGIN PRIVATE KEY-----',
  'MC4CAQAwBQYDK2VwBCIEIOaaQ7fB',
  'xkRk0dQ2pY8m+T/c7w9LkQ==',
  '-----END PRIVATE KEY-----',
  '',
].join('\n');

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

  it('finds the lines of an indented key, and leaves its frame', () => {
    expect(redactor.redact(key.replaceAll(/^/gm, '  | '))).toBe(
      '  | -----BEGIN PRIVATE KEY-----\n  | (secret)\n  | (secret)\n  | -----END PRIVATE KEY-----\n  | ',
    );
  });

  it('prefers the longer of two secrets', () => {
    expect(createRedactor(['secret', 'secret-of-old']).redact('a secret-of-old b secret c')).toBe(
      'a (secret) b (secret) c',
    );
  });

  it('reports secrets that it cannot search for', () => {
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

  it('finds secrets across chunks, exactly as in the whole text', () => {
    fc.assert(
      fc.property(
        secrets,
        fc.string({ unit: letter, maxLength: 60 }),
        fc.array(fc.nat(80), { maxLength: 12 }),
        (hidden, around, cuts) => {
          const text = `${around}${hidden.join('a')}${around}`;
          const redactor = createRedactor(hidden);
          expect(throughStream(redactor, cut(Buffer.from(text), cuts))).toBe(redactor.redact(text));
        },
      ),
      { numRuns: 500 },
    );
  });

  it('shows nothing of a secret that arrives byte by byte', () => {
    const stream = createRedactor([secret]).stream();
    const shown = [...Buffer.from(`a${secret}b`)].map((byte) => stream.push(Buffer.from([byte])).toString());
    expect(shown.join('') + stream.end().toString()).toBe('a(secret)b');
  });

  it('emits the placeholder as soon as a secret is complete, and no second one for an overlap', () => {
    const stream = createRedactor(['hunter2hunter2', 'abcabcabc']).stream();
    expect(stream.push(Buffer.from('hunter2hunter2')).toString()).toBe('(secret)');
    expect(stream.push(Buffer.from('hunter2')).toString()).toBe('');
    expect(stream.push(Buffer.from(' abcabcabc')).toString()).toBe(' (secret)');
    expect(stream.push(Buffer.from('abc')).toString() + stream.push(Buffer.from('.')).toString()).toBe('.');
    expect(stream.end()).toHaveLength(0);
  });

  it('passes binary bytes, and holds back only what may become a secret', () => {
    const stream = createRedactor(['hunter2hunter2']).stream();
    const binary = Buffer.from(Array.from({ length: 256 }, (_, index) => index));
    expect(stream.push(binary)).toEqual(binary);
    expect(stream.push(Buffer.from('go hunt')).toString()).toBe('go ');
    expect(stream.push(Buffer.from('ing')).toString()).toBe('hunting');
    expect(stream.end()).toHaveLength(0);
  });
});

/** What a redactor must give, without regard to time: every occurrence is looked for at every place. */
function redactNaively(secrets: readonly string[], text: string): string {
  const forms = secrets
    .filter((secret) => secret.length >= 6)
    .flatMap(formsOf)
    .filter((form) => form.length >= 6);
  const found = forms.flatMap((form) =>
    Array.from(text).flatMap((_, from) =>
      text.startsWith(form, from) ? [{ from, to: from + form.length }] : [],
    ),
  );
  const runs: { from: number; to: number }[] = [];
  for (const { from, to } of found.toSorted((a, b) => a.from - b.from)) {
    const last = runs.at(-1);
    if (last !== undefined && from < last.to) last.to = Math.max(last.to, to);
    else runs.push({ from, to });
  }
  return runs.reduceRight((shown, { from, to }) => `${shown.slice(0, from)}(secret)${shown.slice(to)}`, text);
}

describe('the result of a redactor', () => {
  // Few letters make many overlaps; hexadecimal and base64 of such secrets share long beginnings.
  const words = fc.string({ unit: fc.constantFrom('a', 'b', '6', '1', 'Y'), minLength: 0, maxLength: 14 });

  // Promise: redaction-forms
  it('equals that of a search for every form at every place, overlaps included', () => {
    fc.assert(
      fc.property(
        fc.array(words, { maxLength: 5 }),
        words,
        fc.array(fc.nat(4), { maxLength: 6 }),
        (hidden, around, order) => {
          const forms = hidden.flatMap((one) => [
            one,
            Buffer.from(one).toString('hex'),
            Buffer.from(one).toString('base64'),
            one.slice(2),
          ]);
          const text =
            around + order.map((index) => forms[index % Math.max(1, forms.length)] ?? '').join('') + around;
          const expected = redactNaively(hidden, text);
          expect(createRedactor(hidden).redact(text)).toBe(expected);
          expect(
            throughStream(
              createRedactor(hidden),
              Array.from(text).map((letter) => Buffer.from(letter)),
            ),
          ).toBe(expected);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('shows no part of a secret that overlaps another occurrence', () => {
    expect(createRedactor(['abcabcabc']).redact('xabcabcabcabcx')).toBe('x(secret)x');
    expect(createRedactor(['secret-one', 'one-and-two']).redact('secret-one-and-two')).toBe('(secret)');
    expect(createRedactor(['hunter2']).redact('hunter2hunter2')).toBe('(secret)(secret)');
  });

  it('keeps half of a surrogate pair', () => {
    expect(createRedactor(['hunter2']).redact('\ud800hunter2\udc00 \u{1f600}')).toBe(
      '\ud800(secret)\udc00 \u{1f600}',
    );
  });
});

describe('the work of a redactor', () => {
  const length = 50_000;
  /**
   * Text, secrets and sizes of pieces for which other searches take time that grows with the length of the
   * secrets or with their number.
   */
  const cases: readonly (readonly [string, readonly string[], string])[] = [
    ['one letter, many times, that a longer secret consists of', ['a'.repeat(20_000)], 'a'.repeat(length)],
    [
      'all but the last letter of a secret, again and again',
      [`${'a'.repeat(5_000)}b`],
      `${'a'.repeat(4_999)}c`.repeat(length / 5_000),
    ],
    [
      'many secrets with one beginning',
      Array.from({ length: 300 }, (_, index) => `${'same-beginning-'.repeat(10)}${index}`),
      'same-beginning-'.repeat(length / 15),
    ],
    [
      'each a secret that ends the next',
      Array.from({ length: 40 }, (_, index) => 'ab'.repeat(3 + index)),
      'ab'.repeat(length / 2),
    ],
    [
      'a long key of several lines',
      [Array.from({ length: 100 }, (_, index) => `line ${index} ${'MIIEvQ'.repeat(10)}`).join('\n')],
      'MIIEvQ'.repeat(length / 6),
    ],
  ];

  it.each(cases)('is linear in the text for %s, whatever the chunks', (_, secrets, text) => {
    const redactor = createRedactor(secrets);
    for (const size of [1, 7, length]) {
      const stream = redactor.stream();
      const bytes = Buffer.from(text);
      for (let at = 0; at < bytes.length; at += size) stream.push(bytes.subarray(at, at + size));
      stream.end();
      // At most two moves for each byte, some brothers to look at, and each byte copied in, out and once more
      // when room is made.
      expect(stream.steps).toBeLessThan(8 * bytes.length);
    }
  });
});

function throughStream(redactor: Redactor, chunks: readonly Buffer[]): string {
  const stream = redactor.stream();
  return Buffer.concat([...chunks.map((chunk) => stream.push(chunk)), stream.end()]).toString();
}

function cut(bytes: Buffer, cuts: readonly number[]): readonly Buffer[] {
  const at = [
    0,
    ...cuts.map((position) => Math.min(position, bytes.length)).toSorted((a, b) => a - b),
    bytes.length,
  ];
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end));
}
