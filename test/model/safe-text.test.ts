import { describe, expect, test } from 'vitest';
import type { Json } from '../../src/model/json.js';
import { sshCommand } from '../../src/cli/access-text.js';
import { unsafeText, unsafeUser } from '../../src/model/safe-text.js';
import { fillWords } from '../../src/plugins/fill-words.js';
import { fc } from '../harness/property.js';

// Promise: texts-stay-one-word
describe('text for a configuration file, an argument list or a header', () => {
  test.each<readonly [string, string]>([
    ['', 'is empty'],
    ['-oProxyCommand=x', 'begins with a hyphen'],
    ['a\nb', 'control character'],
    ['a\rb', 'control character'],
    ['a\0b', 'control character'],
    ['a\tb', 'control character'],
    ['a\u0085b', 'control character'],
    ['a\u2028b', 'control character'],
    ['\u001b[31m', 'control character'],
    ['a"b', 'quote'],
    ["a'b", 'quote'],
    ['a`b', 'quote'],
    ['a b', 'blank'],
    ['a\u00a0b', 'blank'],
  ])('is refused when it is %j', (text, why) => {
    expect(unsafeText(text)).toContain(why);
    expect(unsafeUser(text)).toContain(why);
  });

  test('may contain blanks and quotes if the caller permits them', () => {
    expect([
      unsafeText('/my agent', { blanks: true }),
      unsafeText("can't boot", { blanks: true, quotes: true }),
    ]).toEqual([undefined, undefined]);
    expect(unsafeText('a\nb', { blanks: true, quotes: true })).toContain('control character');
  });

  test.each(['%h', '${HOME}', '~root', 'a#b', 'a;b', 'a|b', 'a&b', '$(id)', 'a$b', 'a*'])(
    'is no user when it is %j',
    (user) => {
      expect(unsafeUser(user)).toContain('holds a character');
    },
  );
});

describe('the command of an administrator', () => {
  const command = ['tool', '--image={image}', '{reason}', '{unknown}'];

  test('gets each value as one word', () => {
    expect(fillWords(command, { image: 'base', reason: 'it can\'t "boot"; rm -rf' })).toEqual([
      'tool',
      '--image=base',
      'it can\'t "boot"; rm -rf',
      '{unknown}',
    ]);
    expect(fillWords(command, { image: '', reason: 'x' })[1]).toBe('--image=');
  });

  test.each(['--delete', '-', 'a\nb', 'a\0b'])('is refused with %j', (reason) => {
    expect(() => fillWords(command, { image: 'base', reason })).toThrow("{reason} of a program's command");
  });
});

describe("the command for a user's login", () => {
  test('has one shell word after each option, whatever the payload contains', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.jsonValue(), (user, host, port) => {
        expect(sshCommand({ user, address: host, port: port as Json })).toMatch(
          /^ssh -p [\d?]+ [^\s"'`$;&|<>()*\\#~-][^\s"'`$;&|<>()*\\#~]*$/u,
        );
      }),
    );
  });

  test.each(['root; touch x', '-oProxyCommand=x', 'a$(id)', 'a\nb'])('shows no user %j', (user) => {
    expect(sshCommand({ user, address: '192.0.2.1', port: 22 })).toBe('ssh -p 22 ?@192.0.2.1');
  });

  test('shows the login of a machine', () => {
    expect(sshCommand({ user: 'ops', address: '192.0.2.1', port: 2222 })).toBe('ssh -p 2222 ops@192.0.2.1');
  });
});
