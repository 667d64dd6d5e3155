import { describe, expect, it } from 'vitest';
import { jsonBytes, mostSent } from '../../../src/model/carried.js';
import { isRepeated, lastTaken, type Numbered } from '../../../src/model/cluster/numbered.js';
import type { Seal, TakenMessages } from '../../../src/model/messages/seal.js';
import { refuseStart } from '../../../src/model/messages/start.js';
import {
  nothingTaken,
  refuseTaken,
  withAnswer,
  withTaken,
  type Receiver,
} from '../../../src/model/messages/taken.js';

const now = 1_800_000_000_000;
const receiver: Receiver = { addresses: ['first', 'uid'], began: now - 1_000 };

const refusal = (seal: Seal, taken: TakenMessages = nothingTaken): string | undefined =>
  refuseTaken('update x', seal, { taken, receiver, now })?.why;
const take = (...seals: readonly Seal[]): TakenMessages => seals.reduce(withTaken, nothingTaken);
const client = (id: string, at = now): Seal => ({ id, at, to: 'first' });

const many = (count: number, seal: (index: number) => Seal): TakenMessages =>
  take(...Array.from({ length: count }, (_, index) => seal(index)));

describe('the messages of clients', () => {
  it('a message is accepted once, by the workflow that it names', () => {
    expect(refusal(client('a'))).toBeUndefined();
    expect(refusal({ ...client('a'), to: 'uid' })).toBeUndefined();
    expect(refusal(client('a'), take(client('a')))).toMatch(/was accepted before/);
    expect(refusal(client('b'), take(client('a')))).toBeUndefined();
    expect(refusal({ ...client('a'), to: 'another' })).toMatch(/for another workflow of this name/);
  });

  it('without a receiver are valid for the workflow that ran when they were sealed', () => {
    expect(refusal({ id: 'a', at: now })).toBeUndefined();
    expect(refusal({ id: 'a', at: receiver.began - 500 })).toBeUndefined();
    expect(refusal({ id: 'a', at: receiver.began - 2_000 })).toMatch(/for another workflow of this name/);
  });

  it('of the codec server are taken once, too', () => {
    const sealed = { id: 'a', until: now + 600_000 };
    expect(refusal(sealed)).toBeUndefined();
    expect(refusal(sealed, take(sealed))).toMatch(/was accepted before/);
    expect(refusal({ ...sealed, until: now + 590_000 })).toMatch(/for another workflow/);
  });

  it('only messages older than the forgotten ones are refused', () => {
    const taken = many(2_000, (index) => client(`id-of-${index}`, now - 2_000 + index));
    expect(taken.ids).toHaveLength(600);
    for (let index = 0; index < 2_000; index += 1)
      expect(refusal(client(`id-of-${index}`, now - 2_000 + index), taken)).toBeDefined();
    expect(refusal(client('late', now - 1_900), taken)).toMatch(/before messages that .* forgotten/);
    expect(refusal(client('new', now - 100), taken)).toBeUndefined();
  });

  it('a message is accepted once also after the clock of the server was set back', () => {
    const hourMs = 3_600_000;
    const before = many(1_300, (index) => client(`before-${index}`, now + hourMs + index));
    let taken = before;
    for (let index = 0; index < 700; index += 1) {
      const seal = client(`after-${index}`, now - 700 + index);
      expect(refusal(seal, taken)).toBeUndefined();
      taken = withTaken(taken, seal);
      expect(refusal(seal, taken)).toMatch(/was accepted before/);
    }
    expect(taken.ids).toHaveLength(600);
    expect(refusal(client('old', now - 120_000), taken)).toMatch(/before messages that .* forgotten/);
    // When the clock has reached the time again, what was forgotten before stays refused.
    const later = now + hourMs + 10;
    const repeated = refuseTaken('update x', client('before-5', now + hourMs + 5), {
      taken,
      receiver,
      now: later,
    });
    expect(repeated?.why).toMatch(/before messages that .* forgotten/);
  });

  it('may wait for a worker for days, while others arrive', () => {
    const sealed = now - 3 * 86_400_000;
    const old = { addresses: ['first'], began: sealed - 1_000 };
    const others = many(500, (index) => client(`id-of-${index}`, now - index));
    const refused = (seal: Seal): unknown =>
      refuseTaken('update x', seal, { taken: others, receiver: old, now });
    expect(refused(client('waited', sealed))).toBeUndefined();
    expect(refused({ id: 'waited', at: sealed })).toBeUndefined();
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

/** What the memory of messages has at most, in bytes of JSON. */
const mostTakenBytes = 40_000;

describe('the memory of messages', () => {
  it('fits into the message of the next run beside the largest state', () => {
    const longest = (index: number): Seal => client(`${index}`.padEnd(36, 'x'));
    const answered = many(30, longest).ids.reduce(
      (taken, [id]) => withAnswer(taken, { id }, 'x'.repeat(198)),
      many(3_000, longest),
    );
    expect(jsonBytes(answered)).toBeGreaterThan(35_000);
    expect(jsonBytes(answered)).toBeLessThan(mostTakenBytes);
    // The envelope and the encryption.
    expect(mostSent + mostTakenBytes + 2_000).toBeLessThan(2 * 1024 * 1024);
  });

  it('has the answers to the last updates, if they are small', () => {
    const taken = withAnswer(
      withAnswer(take(client('a'), client('b')), { id: 'a' }, { operation: '7' }),
      { id: 'b' },
      'x'.repeat(300),
    );
    const of = (id: string): unknown => refuseTaken('update x', client(id), { taken, receiver, now });
    expect(of('a')).toMatchObject({ is: 'Repeated', answer: [{ operation: '7' }] });
    expect(of('b')).toMatchObject({ is: 'Repeated' });
    expect(of('b')).not.toHaveProperty('answer');
  });
});

describe('a numbered message between a cluster and a group', () => {
  const numbered = (seq: number, at: number): Numbered => ({ groupUid: 'uid', seq, at });

  it('is a repetition unless its number or its time is later than all before', () => {
    const last = lastTaken(numbered(3, 500), lastTaken(numbered(7, 400)));
    expect(last).toEqual([7, 500]);
    for (const [seq, at] of [
      [7, 400],
      [3, 500],
      [1, 1],
      [7, 500],
    ] as const)
      expect(isRepeated(numbered(seq, at), last)).toBe(true);
    expect(isRepeated(numbered(1, 1), undefined)).toBe(false);
    // By a clock that is behind, and after a reset of the sender.
    expect(isRepeated(numbered(8, 450), last)).toBe(false);
    expect(isRepeated(numbered(2, 501), last)).toBe(false);
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
    [
      'of a client as a further run',
      { id: 'a', at: now },
      { continuedFrom: 'x' },
      /a run that this run does not continue/,
    ],
    ['of a child of another run', { parent: 'p' }, { parent: 'q' }, /another run of the parent/],
    ['of a child by a caller', { parent: 'p' }, {}, /another run of the parent/],
    ['of a later run by a caller', { after }, {}, /a run that this run does not continue/],
    [
      'of a later run after another one',
      { after },
      { continuedFrom: 'other' },
      /a run that this run does not continue/,
    ],
    ['of a Schedule for another id', { scheduled: true }, { workflowId: 'sweep' }, /belongs to a Schedule/],
  ] as const)('is refused %s', (_, seal, more, why) => {
    expect(refuseStart(seal, { ...run, ...more })?.why).toMatch(why);
  });
});
