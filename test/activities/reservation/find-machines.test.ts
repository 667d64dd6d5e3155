import { describe, expect, it } from 'vitest';
import { findCandidates } from '../../../src/activities/reservation/find-machines.js';
import type { Computers, ReservationParts } from '../../../src/activities/reservation/parts.js';
import type { MachineView } from '../../../src/schema/output/machine.js';
import { configSchema } from '../../../src/schema/config.js';

const image = { name: 'web', revision: '1' };

/** Machines that fit, except those that do not answer, or do not exist. */
function partsOf(
  names: readonly string[],
  silent: readonly string[],
  gone: readonly string[] = [],
): ReservationParts {
  const view = (name: string): MachineView =>
    ({
      name,
      uid: `uid-of-${name}`,
      state: 'available',
      provider: 'rack',
      type: 'ipmi',
      groups: [],
      can: ['LOAD'],
      drift: [],
      history: [],
    }) as unknown as MachineView;
  const computers = {
    names: () => Promise.resolve(names),
    view: (name: string) =>
      silent.includes(name)
        ? Promise.reject(new Error('deadline exceeded'))
        : Promise.resolve(gone.includes(name) ? undefined : view(name)),
    askImage: () => Promise.resolve({ is: 'yes' }),
  } as unknown as Computers;
  return { computers, settings: configSchema.parse({}) } as unknown as ReservationParts;
}

describe('the search for machines of a reservation', () => {
  it('finds those that fit, and needs no answer of the others', async () => {
    const found = await findCandidates(partsOf(['a', 'b'], ['b']), { wanted: { count: 1 }, image });
    expect(found).toMatchObject({ computers: [{ name: 'a' }], incomplete: true });
  });

  it('is complete if every machine answers', async () => {
    const found = await findCandidates(partsOf(['a', 'b'], []), { wanted: { count: 1 }, image, all: true });
    expect(found.computers).toHaveLength(2);
    expect(found).not.toHaveProperty('incomplete');
  });

  it('is repeated until every machine answers if too few of the others are free', async () => {
    const request = { wanted: { count: 1 }, image, all: true } as const;
    await expect(findCandidates(partsOf(['a', 'b'], ['b']), request)).rejects.toThrow(
      /1 of 2 machines do not answer, and one of them may be free: b \(deadline exceeded\)/,
    );
  });

  it('asks no machine that was tried in vain', async () => {
    const request = { wanted: { count: 1 }, image, than: ['b'] };
    const found = await findCandidates(partsOf(['a', 'b'], ['b']), request);
    expect(found).toMatchObject({ computers: [{ name: 'a' }] });
    expect(found).not.toHaveProperty('incomplete');
  });

  it('ends with reasons if every machine answers', async () => {
    const { computers, others } = await findCandidates(partsOf(['a', 'b'], [], ['b']), {
      wanted: { count: 2 },
      image,
      all: true,
    });
    expect(computers).toHaveLength(1);
    expect(others).toEqual([expect.stringContaining('b: machine b does not exist')]);
  });
});
