import { describe, expect, test } from 'vitest';
import { PluginError } from '../../src/plugins/errors.js';
import { parseResult } from '../../src/schema/result.js';
import { fc } from '../harness/property.js';

const source = { plugin: 'cloud', task: 'CREATE web-1' };
const cyclic: Record<string, unknown> = {};
cyclic['self'] = cyclic;

function fault(value: unknown, more: { readonly requireStatus?: boolean } = {}): string {
  try {
    parseResult(value, { ...source, ...more });
  } catch (error) {
    if (error instanceof PluginError && error.kind === 'Invalid') return error.message;
    throw error;
  }
  return 'nothing';
}

describe("a plugin's result", () => {
  test('is copied: later changes by the plugin do not reach it', () => {
    const result = { providerid: 'i-1', 'ssh-auth': { user: 'root' }, gone: null, left: undefined };
    const parsed = parseResult({ status: 0, result, stdout: 'out' }, source);
    result['ssh-auth'].user = 'eve';
    expect(parsed).toEqual({
      status: 0,
      result: { providerid: 'i-1', 'ssh-auth': { user: 'root' }, gone: null },
      stdout: 'out',
    });
  });

  test('may be absent from a method that returned, but not from a program', () => {
    expect(parseResult(undefined, source)).toEqual({});
    expect(parseResult({}, source)).toEqual({});
    expect(fault(undefined, { requireStatus: true })).toContain('it is undefined');
    expect(fault({}, { requireStatus: true })).toContain('status is missing');
  });

  test.each<readonly [string, unknown, string]>([
    ['null', null, 'it is null'],
    ['a text', 'ok', 'it is a string'],
    ['a list', [], 'it is a list'],
    ['true', true, 'it is a boolean'],
    ['a Proxy', new Proxy({}, {}), 'it is a Proxy'],
    ['an Error', new Error('x'), 'it is an object of a class'],
    ['a Date', new Date(), 'an object of a class'],
    ['status "0"', { status: '0' }, 'status should be a whole number, but is "0"'],
    ['status 0.5', { status: 0.5 }, 'status should be a whole number'],
    ['status true', { status: true }, 'status should be a whole number, but is a boolean'],
    ['status null', { status: null }, 'status should be'],
    ['a key that is slightly wrong', { reslut: {} }, 'reslut is an unknown key. Did you mean "result"?'],
    [
      'a getter',
      Object.defineProperty({}, 'status', {
        enumerable: true,
        get: () => {
          throw new Error('gotcha');
        },
      }),
      'status is a getter',
    ],
    [
      'a getter inside',
      {
        result: {
          get a(): string {
            throw new Error('gotcha');
          },
        },
      },
      'result.a is a getter',
    ],
    ['a cycle', { result: cyclic }, 'result.self contains itself'],
    ['a BigInt', { result: { n: 1n } }, 'result.n is a bigint'],
    ['a Date inside', { result: { at: new Date() } }, 'result.at is a Date'],
    ['a Buffer', { result: { b: Buffer.from('x') } }, 'result.b is a Buffer'],
    ['a Map', { result: new Map() }, 'result is a Map'],
    ['a promise', { result: { p: Promise.resolve(1) } }, 'is an await missing'],
    ['a Proxy inside', { result: { p: new Proxy({}, {}) } }, 'result.p is a Proxy'],
    ['a function', { result: { toJSON: () => 1 } }, 'result.toJSON is a function'],
    ['NaN', { result: { n: Number.NaN } }, 'result.n is NaN'],
    ['undefined in a list', { result: { l: [undefined] } }, 'result.l[0] is undefined'],
    ['__proto__', JSON.parse('{"result": {"a": {"__proto__": {"x": 1}}}}'), 'is a forbidden key'],
    ['constructor', { result: { constructor: 1 } }, 'result.constructor is a forbidden key'],
    ['a result that is a list', { result: [1] }, 'result should be an object'],
    ['more than 8 KiB', { result: { a: 'x'.repeat(8_200) } }, '8192'],
    ['10 MB', { result: { a: Array.from({ length: 10 }, () => 'x'.repeat(1_000_000)) } }, '8192'],
    [
      'many numbers',
      { result: { a: Array.from({ length: 1_000 }, () => 123_456_789_012) } },
      'the limit is 8192',
    ],
    ['a long hole', { result: { a: new Array(4_000_000_000) } }, '8192'],
  ])('is refused when it is or holds %s', (_, value, expected) => {
    const message = fault(value);
    expect(message).toContain('plugin cloud returned no valid result for CREATE web-1: ');
    expect(message).toContain(expected);
  });

  test('keeps head and tail of long output, and does not fail on output', () => {
    const { stdout, stderr } = parseResult(
      { status: 0, stdout: `a${'x'.repeat(10_000_000)}z`, stderr: 7 },
      source,
    );
    expect(stdout?.length).toBeLessThan(66_000);
    expect(stdout).toMatch(/^ax+\n\.\.\. \d+ characters omitted \.\.\.\nx+z$/);
    expect(stderr).toBe('(not text, but a number)');
    expect(parseResult({ stdout: '\uD800' }, source).stdout).toBe('\uFFFD');
  });

  test('of any form is accepted as plain JSON or refused as Invalid, and calls nothing', () => {
    fc.assert(
      fc.property(
        fc.anything({
          withBigInt: true,
          withDate: true,
          withMap: true,
          withTypedArray: true,
          withNullPrototype: true,
        }),
        (value) => {
          let parsed;
          try {
            parsed = parseResult({ status: 0, result: { value } }, source);
          } catch (error) {
            expect(error).toBeInstanceOf(PluginError);
            return;
          }
          expect(structuredClone(parsed)).toEqual(parsed);
          expect(JSON.parse(JSON.stringify(parsed))).toEqual(
            JSON.parse(JSON.stringify({ status: 0, result: { value } })),
          );
        },
      ),
    );
  });
});
