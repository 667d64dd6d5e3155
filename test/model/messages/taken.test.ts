import { describe, expect, it } from 'vitest';
import { jsonBytes, mostSent } from '../../../src/model/carried.js';
import type { Seal, TakenMessages } from '../../../src/model/messages/seal.js';
import { refuseStart } from '../../../src/model/messages/start.js';
import {
  mostTakenBytes,
  nothingTaken,
  refuseTaken,
  withTaken,
  type Receiver,
} from '../../../src/model/messages/taken.js';

const now = 1_800_000_000_000;
const receiver: Receiver = { addresses: ['first', 'uid'], began: now - 1_000 };

const refusal = (seal: Seal, taken: TakenMessages = nothingTaken): string | undefined =>
  refuseTaken('update x', seal, { taken, receiver, now })?.why;
const take = (...seals: readonly Seal[]): TakenMessages => seals.reduce(withTaken, nothingTaken);
const client = (id: string, at = now): Seal => ({ id, at, to: 'first' });
const signal = (count: number, from = 'run-of-a-sender', at = now): Seal => ({ from, count, at });

/** With the shortest ids and runs that senders have, and with the longest. */
const many = (count: number, seal: (index: number) => Seal): TakenMessages =>
  take(...Array.from({ length: count }, (_, index) => seal(index)));
const run = (index: number): string => `01a21f16-df98-76d6-8ff7-${String(index).padStart(12, '0')}`;

describe('the messages of clients', () => {
  it('are taken once, by the workflow that they name', () => {
    expect(refusal(client('a'))).toBeUndefined();
    expect(refusal({ ...client('a'), to: 'uid' })).toBeUndefined();
    expect(refusal(client('a'), take(client('a')))).toMatch(/was taken before/);
    expect(refusal(client('b'), take(client('a')))).toBeUndefined();
    expect(refusal({ ...client('a'), to: 'another' })).toMatch(/for another workflow of this name/);
  });

  it('without a receiver are valid for the workflow that ran when they were sealed', () => {
    expect(refusal({ id: 'a', at: now })).toBeUndefined();
    expect(refusal({ id: 'a', at: now - 2_000 })).toMatch(/for another workflow of this name/);
  });

  it('of the codec server are taken once, too', () => {
    const sealed = { id: 'a', until: now + 600_000 };
    expect(refusal(sealed)).toBeUndefined();
    expect(refusal(sealed, take(sealed))).toMatch(/was taken before/);
    expect(refusal({ ...sealed, until: now + 598_000 })).toMatch(/for another workflow/);
  });

  it('are refused when they are older than those that were forgotten, and no others', () => {
    const taken = many(2_000, (index) => client(`id-of-${index}`, now - 2_000 + index));
    expect(taken.ids.length).toBeGreaterThan(250);
    for (let index = 0; index < 2_000; index += 1)
      expect(refusal(client(`id-of-${index}`, now - 2_000 + index), taken)).toBeDefined();
    expect(refusal(client('late', now - 1_900), taken)).toMatch(/before messages that .* forgotten/);
    expect(refusal(client('new', now - 100), taken)).toBeUndefined();
  });

  it('need an id, a time, and a clock that is not ahead', () => {
    for (const seal of [
      {},
      { id: 'a' },
      { at: now },
      { ...client(''), id: '' },
      { id: 5, at: now },
      { id: 'a', at: 'x' },
    ])
      expect(refusal(seal as Seal)).toMatch(/without an id and a time/);
    expect(refusal(client('a', now + 3_600_000))).toMatch(/clock that is ahead/);
  });
});

describe('the signals of workflows', () => {
  it('are taken once, in any order', () => {
    const taken = take(signal(1), signal(4));
    for (const count of [1, 4]) expect(refusal(signal(count), taken)).toMatch(/was taken before/);
    for (const count of [2, 3, 5]) expect(refusal(signal(count), taken)).toBeUndefined();
    expect(refusal(signal(3), withTaken(taken, signal(3)))).toMatch(/was taken before/);
    expect(refusal(signal(1, 'run-of-b-other'), taken)).toBeUndefined();
  });

  it('of senders that were forgotten are refused if they are older, and no others', () => {
    const taken = many(2_000, (index) => signal(3, run(index), now - 2_000 + index));
    expect(taken.runs.length).toBeGreaterThan(400);
    for (let index = 0; index < 2_000; index += 1)
      for (const count of [1, 3])
        expect(refusal(signal(count, run(index), now - 2_000 + index), taken), run(index)).toBeDefined();
    expect(refusal(signal(4, run(1), now), taken)).toBeUndefined();
    // What it had sent before it was forgotten stays refused.
    expect(refusal(signal(3, run(1), now - 1_999), withTaken(taken, signal(4, run(1))))).toBeDefined();
  });
});

describe('the memory of messages', () => {
  it('fits into the message of the next run beside the largest state', () => {
    const longest = (index: number): Seal => client(`${index}`.padEnd(36, 'x'));
    const gaps = (index: number): Seal => signal(1_000_000 + index, run(index));
    const taken = { ...many(3_000, gaps), ids: many(3_000, longest).ids };
    expect(jsonBytes(taken)).toBeGreaterThan(35_000);
    expect(jsonBytes(taken)).toBeLessThan(mostTakenBytes);
    // The envelope and the encryption.
    expect(mostSent + mostTakenBytes + 2_000).toBeLessThan(2 * 1024 * 1024);
  });
});

describe('a start', () => {
  const run = { workflowId: 'sweep-2026-11-27T10:00:00Z', startedAt: now };
  const after = { run: 'before', began: 5, taken: nothingTaken };

  it.each([
    ['of a client', { id: 'a', at: now }, {}],
    ['that the network delayed', { id: 'a', at: now - 50_000 }, {}],
    ['of the codec server', { id: 'a', until: now + 1_000 }, {}],
    ['of a child of the run that sealed it', { parent: 'p' }, { parent: 'p' }],
    ['of the run after the one that sealed it', { after }, { continuedFrom: 'before' }],
    [
      'of the run after the one that sealed it, in a child',
      { after },
      { continuedFrom: 'before', parent: 'p' },
    ],
    ['of a Schedule', { scheduled: true }, {}],
  ] as const)('is accepted %s', (_, seal, more) => {
    expect(refuseStart(seal, { ...run, ...more })).toBeUndefined();
  });

  // Promise: children-of-parents
  it.each([
    ['without an id', { at: now }, {}, /without an id/],
    ['without a time', { id: 'a' }, {}, /without an id/],
    ['that is old', { id: 'a', at: now - 130_000 }, {}, /too long ago/],
    ['by a clock that is ahead', { id: 'a', at: now + 130_000 }, {}, /ahead/],
    ['of a client as a child', { id: 'a', at: now }, { parent: 'p' }, /another run of the parent/],
    ['of a client as a further run', { id: 'a', at: now }, { continuedFrom: 'x' }, /state of another run/],
    ['of a child of another run', { parent: 'p' }, { parent: 'q' }, /another run of the parent/],
    ['of a child by a caller', { parent: 'p' }, {}, /another run of the parent/],
    ['of a later run by a caller', { after }, {}, /state of another run/],
    ['of a later run after another one', { after }, { continuedFrom: 'other' }, /state of another run/],
    ['of a Schedule for another id', { scheduled: true }, { workflowId: 'sweep' }, /that of a Schedule/],
  ] as const)('is refused %s', (_, seal, more, why) => {
    expect(refuseStart(seal, { ...run, ...more })).toMatch(why);
  });
});
