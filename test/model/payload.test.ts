import { describe, expect, it } from 'vitest';
import { mergePayload, stableJson } from '../../src/model/node/payload.js';
import type { Json, JsonObject } from '../../src/model/json.js';
import { fc } from '../harness/property.js';

describe('mergePayload', () => {
  const cases: readonly (readonly [string, JsonObject, JsonObject, JsonObject])[] = [
    ['adds keys', { a: 1 }, { b: 2 }, { a: 1, b: 2 }],
    ['replaces values', { a: 1 }, { a: 'x' }, { a: 'x' }],
    [
      'merges objects deeply: the user of CREATE survives the password of CONFIRM',
      { 'ssh-auth': { user: 'root' } },
      { 'ssh-auth': { password: 'p' } },
      { 'ssh-auth': { user: 'root', password: 'p' } },
    ],
    ['deletes by null', { a: 1, b: { c: 1, d: 2 } }, { a: null, b: { c: null } }, { b: { d: 2 } }],
    ['replaces lists whole', { a: [1, 2] }, { a: [3] }, { a: [3] }],
    ['puts an object in the place of a value', { a: 1 }, { a: { b: 1 } }, { a: { b: 1 } }],
  ];
  it.each(cases)('%s', (_title, payload, result, merged) => {
    expect(mergePayload(payload, result)).toEqual(merged);
  });

  it('changes neither of its arguments, and is idempotent', () => {
    const object = fc.dictionary(fc.string(), fc.jsonValue()) as fc.Arbitrary<JsonObject>;
    fc.assert(
      fc.property(object, object, (payload, result) => {
        const before = JSON.stringify([payload, result]);
        const once = mergePayload(payload, result);
        expect(mergePayload(once, result)).toEqual(once);
        expect(JSON.stringify([payload, result])).toBe(before);
      }),
    );
  });
});

describe('stableJson', () => {
  it('returns equal text for equal values, whatever the order of their keys', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        const turned = Object.fromEntries(Object.entries(value).toReversed());
        expect(stableJson(turned as Json)).toBe(stableJson(value as Json));
      }),
    );
  });
});
