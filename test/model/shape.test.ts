import { describe, expect, it } from 'vitest';
import {
  count,
  flag,
  id,
  json,
  jsonObject,
  list,
  nullable,
  object,
  oneOf,
  optional,
  outline,
  record,
  text,
  variants,
  withField,
  type Shape,
} from '../../src/model/shape.js';

const person = object({ by: text(5), age: optional(count(150)) });
const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);

describe('a shape', () => {
  it.each<readonly [string, Shape, unknown]>([
    ['a text', text(5), 'hello'],
    ['a name', id(), 'app-1'],
    ['an object without its optional field', person, { by: 'me' }],
    ['null where it is allowed', nullable(count()), null],
    ['a variant', variants('kind', { on: { now: flag }, off: {} }), { kind: 'on', now: true }],
    ['an object chosen by its field', withField({ uid: object({ uid: id() }) }, text(9)), { uid: 'u' }],
    ['free JSON', json(1_000), { a: [1, null, 'x', { b: true }] }],
    ['free keys', record(count(), 2), { a: 1, b: 2 }],
    ['more fields than an outline names', outline({ a: flag }), { a: true, b: 1 }],
  ])('accepts %s', (_what, shape, value) => {
    expect(shape(value, '')).toBeUndefined();
  });

  it.each<readonly [string, Shape, unknown, string]>([
    ['a missing argument', person, undefined, 'the argument: is missing, and must be an object'],
    ['a missing field', person, {}, 'by: is missing, and must be text of 1 to 5 characters'],
    ['a text that is too long', person, { by: 'secret' }, 'by: is text of 6 characters, and must be'],
    ['another type', person, { by: 5 }, 'by: is 5, and must be text'],
    ['a list instead of an object', person, ['me'], 'the argument: is a list of 1, and must be an object'],
    ['an unknown field', person, { by: 'me', admin: true }, 'admin: is not a field of this message'],
    ['a fraction', person, { by: 'me', age: 1.5 }, 'age: is 1.5, and must be a whole number'],
    ['a name that every object inherits', id(), 'constructor', 'and must be a name of 1 to 200 characters'],
    ['an unknown word', oneOf('on', 'off'), 'up', 'and must be one of on, off'],
    ['an unknown variant', variants('kind', { on: {} }), { kind: 'toString' }, 'kind: is text of 8'],
    [
      'a field of another variant',
      variants('kind', { on: {}, off: { now: flag } }),
      { kind: 'on', now: true },
      'now: is not',
    ],
    ['a wrong entry of a list', list(person, 9), [{ by: 'me' }, { by: '' }], '[1].by: is an empty text'],
    ['a list that is too long', list(flag, 1), [true, true], 'is a list of 2, and must be a list of 0 to 1'],
    ['free JSON that is too large', json(100), ['x'.repeat(60), 'x'.repeat(60)], 'is larger than 100 bytes'],
    ['free JSON that is nested too deep', json(10_000), nested(80), 'is nested more than 64 levels deep'],
    ['free JSON that is not an object', jsonObject(100), 5, 'is 5, and must be an object'],
    ['too many free keys', record(flag, 1), { a: true, b: true }, 'an object of at most 1 entries'],
  ])('refuses %s, and never repeats a text', (_what, shape, value, problem) => {
    expect(shape(value, '')).toContain(problem);
    expect(shape(value, '')).not.toContain('secret');
  });

  it.each(['__proto__', 'constructor', 'prototype'])('refuses an own key %s at every level', (key) => {
    const poisoned: unknown = JSON.parse(`{"${key}": {"by": "me"}}`);
    const expected = new RegExp(`must not have a field named ${key}`);
    for (const shape of [person, outline({}), record(outline({}), 9), json(1_000), jsonObject(1_000)]) {
      expect(shape(poisoned, '')).toMatch(expected);
    }
    expect(json(1_000)({ a: [poisoned] }, '')).toMatch(expected);
    expect(list(outline({}), 9)([poisoned], '')).toMatch(expected);
  });

  it('reads no inherited field', () => {
    expect(outline({ by: text(5) })(Object.create({ by: 'me' }), '')).toMatch(/by: is missing/);
  });
});
