import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CliError, exitCodeOf } from '../../src/cli/errors.js';
import { describeError } from '../../src/cli/report-error.js';
import { PluginError } from '../../src/plugins/errors.js';
import { ProblemsError } from '../../src/schema/problem.js';
import { formatKeys, generateKey, KeyError, MissingKeyError } from '../../src/secrets/key-document.js';
import {
  addKey,
  createKeys,
  exportKeys,
  openKeyRing,
  parseKeyRing,
  removeKey,
  useKey,
} from '../../src/secrets/keys.js';
import { resolveSecrets } from '../../src/secrets/reference.js';
import { newFolder } from '../harness/folder.js';

it.each([
  new CliError('Refused', 'no', { remedy: 'do it' }),
  new PluginError('Auth', 'no', { remedy: 'do it' }),
])('the report of %s has its remedy', (error) => {
  expect(describeError(error)).toMatchObject({ message: 'no', remedy: 'do it' });
});

it.each([
  () => openKeyRing({ folder: '/nowhere/keys', create: false }),
  () => {
    const key = generateKey();
    parseKeyRing(formatKeys({ current: key.id, keys: [key] }), 'HEDDLE_KEYS').find('k0badcafe');
  },
  () => exportKeys('/nowhere/keys'),
])('a missing key has one code and one next command: %s', (use) => {
  let error: unknown;
  try {
    use();
  } catch (thrown) {
    error = thrown;
  }
  expect(error).toBeInstanceOf(MissingKeyError);
  expect(describeError(error)).toMatchObject({ code: 'Encryption', next: 'heddle keys import FILE' });
});

it.each([useKey, removeKey, addKey])(
  'a key folder without keys lacks them for %s as well',
  async (change) => {
    const error = await change('/nowhere/keys', 'k0badcafe').catch((thrown: unknown) => thrown);
    expect(describeError(error)).toMatchObject({ code: 'Encryption', next: 'heddle keys import FILE' });
  },
);

it.each([useKey, removeKey])('a mistyped key ID is an invalid input of %s', async (change) => {
  const folder = join(newFolder(), 'keys');
  createKeys(folder);
  const error = await change(folder, 'k0badcafe').catch((thrown: unknown) => thrown);
  expect(describeError(error)).toMatchObject({
    code: 'Invalid',
    message: `key k0badcafe is not in ${folder}`,
    next: 'heddle keys list',
  });
});

it('an empty remedy is none', () => {
  expect(describeError(new PluginError('Auth', 'no', { remedy: ' ' })).remedy).toBeUndefined();
});

it('a secret is to be provided where it is read', async () => {
  const read = (reader?: 'this computer'): Promise<unknown> =>
    resolveSecrets(
      { secret: 'env:GONE' },
      { environment: {} },
      { writtenBy: 'administrator', place: 'keyFile', ...(reader === undefined ? {} : { reader }) },
    ).catch(describeError);
  expect(await read()).toMatchObject({ remedy: 'provide the secret to the workers, or correct keyFile' });
  expect(await read('this computer')).toMatchObject({
    code: 'Failed',
    remedy: 'provide the secret to this computer, or correct keyFile',
  });
});

const errors = (cause: Error): readonly Error[] => [
  cause,
  new CliError('Invalid', 'cannot write a', { cause }),
  new CliError('Refused', 'cannot write a', { cause: new Error('the account', { cause }) }),
  new KeyError('cannot write a', { cause }),
  new ProblemsError('cannot write a', [], { cause }),
];

const ends = (code: string): readonly number[] =>
  errors(Object.assign(new Error('cannot write'), { code })).map((error) =>
    exitCodeOf(describeError(error).code),
  );

it.each(['ENOSPC', 'EDQUOT', 'EROFS', 'EIO'])(
  'a command ends with 1 after %s, wherever it occurs',
  (code) => {
    expect(ends(code)).toEqual([1, 1, 1, 1, 1]);
  },
);

it('a command ends with the code of its error after other errors of files', () => {
  expect(ends('EACCES')).toEqual([1, 2, 3, 2, 2]);
});
