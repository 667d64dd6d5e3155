import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { recordsPurpose } from '../../src/cli/pool/export.js';
import { readRecords } from '../../src/cli/pool/restore.js';
import { openKeyRing } from '../../src/secrets/keys.js';
import { sealText } from '../../src/secrets/sealed-text.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'heddle-restore-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('a file of records that was damaged is named, and so is the key that is missing', () => {
  const keys = openKeyRing({ folder: join(folder, 'keys'), create: true });
  const sealed = sealText(keys, recordsPurpose, JSON.stringify({ version: 1, pool: {}, exported: {} }));
  const file = join(folder, 'ci.json');
  const read = (records: string, ring = keys) => {
    writeFileSync(file, JSON.stringify({ records }));
    return readRecords(file, ring);
  };
  expect(read(sealed)).toMatchObject({ version: 1 });
  const altered = `${sealed.slice(0, -8)}${sealed.at(-8) === 'A' ? 'B' : 'A'}${sealed.slice(-7)}`;
  for (const records of [altered, 'something else', sealText(keys, 'another purpose', '{}')])
    expect(() => read(records)).toThrow(
      expect.objectContaining({
        code: 'Usage',
        message: expect.stringContaining(`${file} does not hold the records of a pool: it `) as string,
      }),
    );
  const others = openKeyRing({ folder: join(folder, 'others'), create: true });
  expect(() => read(sealed, others)).toThrow(/key k/);
});
