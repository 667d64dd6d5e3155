import { expect, test } from 'vitest';
import type { Json } from '../../src/model/json.js';
import { readRegistrations } from '../../src/schema/machine/registration.js';

const defaults = { provider: 'rack', flavor: 'small', image: 'host', fields: {}, system: 'linux' };
const read = (...entries: readonly Json[]) =>
  readRegistrations(
    entries.map((value, index) => ({ value, line: 10 * (index + 1) })),
    'rack.yaml',
    defaults,
  );

test('an entry overrides the options of the command, and names its machine of the account', () => {
  expect(
    read(
      { name: 'one', address: '192.0.2.1', controller: { host: 'bmc', password: { secret: 'env:P' } } },
      { name: 'two', flavor: 'big', image: 'web', system: 'none', defaultImage: 'web@2', correct: ['power'] },
    ),
  ).toEqual({
    ok: true,
    machines: [
      { name: 'one', registration: { ...defaults, fields: { machine: 'one' } } },
      {
        name: 'two',
        registration: {
          provider: 'rack',
          flavor: 'big',
          image: 'web',
          fields: { machine: 'two' },
          system: null,
          defaultImage: { name: 'web', revision: '2' },
          correct: ['power'],
        },
      },
    ],
  });
});

test.each<readonly [string, readonly Json[], string]>([
  ['a password in plain text', [{ name: 'a', password: 'hunter2' }], 'A reference that workers resolve'],
  [
    'a password of a controller in plain text',
    [{ name: 'a', controller: { password: 'hunter2' } }],
    'A reference that workers resolve',
  ],
  ['a host key with its host', [{ name: 'a', hostKey: 'rack1 ssh-ed25519 AAAA' }], 'Public host key'],
  ['a misspelt key', [{ name: 'a', adress: 'x' }], 'address'],
  ['a name that no machine has', [{ name: 'Blade_7' }], 'Lower-case letters, digits and hyphens'],
  ['an entry that is not a mapping', ['a'], 'mapping'],
])('%s is refused with its line and the remedy', (_what, entries, right) => {
  const reading = read({ name: 'first' }, ...entries);
  expect(reading).toMatchObject({ ok: false, problems: [{ place: { file: 'rack.yaml', line: 20 } }] });
  expect(JSON.stringify(reading)).toContain(right);
  expect(JSON.stringify(reading)).not.toContain('hunter2');
});

test('a name that is there twice is refused, and so is a file without machines', () => {
  expect(read({ name: 'a' }, { name: 'a' })).toMatchObject({
    ok: false,
    problems: [{ wrong: 'a is already listed in line 10', place: { line: 20 } }],
  });
  expect(read()).toMatchObject({ ok: false, problems: [{ wrong: 'has no machines' }] });
});
