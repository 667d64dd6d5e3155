import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { readRecords, sealRecords } from '../../src/cli/records.js';
import { openKeyRing } from '../../src/secrets/keys.js';
import { newFolder } from '../harness/folder.js';

let folder: string;
beforeAll(() => {
  folder = newFolder();
});

it('a file of records that was damaged is named, and so is the key that is missing', () => {
  const keys = openKeyRing({ folder: join(folder, 'keys'), create: true });
  const content = {
    version: 1,
    exported: { id: 'e', by: 'test', at: 0 },
    installation: 'i',
    carried: {},
  } as const;
  const sealed = sealRecords(keys, 'pool', content);
  const file = join(folder, 'ci.json');
  const read = (records: string, ring = keys) => {
    writeFileSync(file, JSON.stringify({ records }));
    return readRecords(file, 'pool', ring);
  };
  expect(read(sealed)).toMatchObject({ version: 1 });
  const altered = `${sealed.slice(0, -8)}${sealed.at(-8) === 'A' ? 'B' : 'A'}${sealed.slice(-7)}`;
  for (const records of [altered, 'something else', sealRecords(keys, 'image', content)])
    expect(() => read(records)).toThrow(
      expect.objectContaining({
        code: 'Usage',
        message: expect.stringContaining(`${file} does not hold the records of a pool: it `) as string,
      }),
    );
  const others = openKeyRing({ folder: join(folder, 'others'), create: true });
  expect(() => read(sealed, others)).toThrow(/key k/);
});
