import { expect, test } from 'vitest';
import type { LibvirtFields } from '../../../../src/plugins/providers/libvirt/field-types.js';
import { fieldsOf } from '../../../harness/plugins/fields.js';
import { Virsh } from '../../../../src/plugins/providers/libvirt/virsh.js';
import { libvirtIsMissing } from './support/libvirtd.js';

const missing = libvirtIsMissing();

test.skipIf(missing !== undefined)(
  'answers of more commands than one argument can hold are in order',
  async () => {
    const calls = { take: () => Promise.resolve() };
    const virsh = new Virsh(
      fieldsOf<LibvirtFields>('libvirt', { uri: 'test:///default' }),
      AbortSignal.timeout(60_000),
      calls,
    );
    const words = Array.from({ length: 1_000 }, (_, index) => `${index}-${'x'.repeat(250)}`);
    const { stdout, errors } = await virsh.batch(words.map((word) => `echo ${word}`));
    expect(errors).toEqual([]);
    expect(stdout).toBe(words.join(''));
    expect(await virsh.batch([])).toEqual({ stdout: '', errors: [] });
  },
);
