import { describe, expect, it } from 'vitest';
import { choose, overlaps } from '../../../src/model/reservation/calendar.js';
import { refuseExtension } from '../../../src/model/reservation/check.js';
import { endReservation, applyTime } from '../../../src/model/reservation/decide.js';
import {
  newReservations,
  openReservations,
  withReservation,
  type Reservation,
  type ReservationsState,
  type Assignment,
} from '../../../src/model/reservation/state.js';
import { fc } from '../../harness/property.js';

const settings = { prepareMs: 10, remindMs: 5, longestMs: 10_000 };
const image = { name: 'web', revision: '1' };
const computers = ['a', 'b', 'c', 'd'].map((name) => ({ name, uid: name, defaultImage: image }));

function book(
  state: ReservationsState,
  {
    from,
    to,
    count = 1,
    user = 'ada',
  }: { readonly from: number; readonly to: number; readonly count?: number; readonly user?: string },
  of = computers,
): ReservationsState {
  const choice = choose(state, { count, computers: of, from, to });
  if ('lacking' in choice) return state;
  const assignments = choice.chosen.map(({ name, uid, defaultImage }): Assignment => ({
    machine: name,
    uid,
    defaultImage,
    stage: 'booked',
    asked: 0,
    tries: 0,
  }));
  const id = `r${state.numbers + 1}`;
  const reservation: Reservation = {
    id,
    user,
    image,
    from,
    to,
    by: 'test',
    askedAt: 0,
    wanted: { count },
    settings,
    assignments,
    tried: [],
    notes: [],
  };
  return withReservation({ ...state, numbers: state.numbers + 1 }, reservation);
}

/** Pairs of promises for one machine at one time. */
function clashes(state: ReservationsState): readonly string[] {
  const all = openReservations(state)
    .filter(({ over }) => over === undefined)
    .flatMap(({ id, from, to, assignments }) =>
      assignments.map(({ machine }) => ({ id, machine, from, to })),
    );
  return all.flatMap((one, index) =>
    all
      .slice(index + 1)
      .flatMap((other) =>
        one.machine === other.machine && overlaps(one, other)
          ? [`${one.id} and ${other.id} on ${one.machine}`]
          : [],
      ),
  );
}

describe('the calendar', () => {
  it('never promises a machine twice, whatever is requested, extended and ended', () => {
    const wish = fc.oneof(
      fc.record({
        do: fc.constant('book' as const),
        from: fc.nat(200),
        length: fc.integer({ min: 1, max: 60 }),
        count: fc.integer({ min: 1, max: 4 }),
      }),
      fc.record({
        do: fc.constant('extend' as const),
        which: fc.nat(20),
        by: fc.integer({ min: 1, max: 80 }),
      }),
      fc.record({ do: fc.constant('end' as const), which: fc.nat(20), at: fc.nat(200) }),
    );
    fc.assert(
      fc.property(fc.array(wish, { maxLength: 60 }), (wishes) => {
        let state = newReservations('u');
        for (const one of wishes) {
          if (one.do === 'book')
            state = book(state, { from: one.from, to: one.from + one.length, count: one.count });
          const reservation = one.do === 'book' ? undefined : state.reservations[`r${one.which}`];
          if (
            reservation !== undefined &&
            one.do === 'extend' &&
            refuseExtension(state, { id: reservation.id, to: reservation.to + one.by, by: 'test' }) ===
              undefined
          )
            state = withReservation(state, { ...reservation, to: reservation.to + one.by });
          if (reservation !== undefined && reservation.over === undefined && one.do === 'end')
            state = applyTime(
              endReservation(state, reservation, { at: one.at, how: 'cancelled', why: 'test' }),
              one.at,
            );
          expect(clashes(state)).toEqual([]);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('would detect a conflict', () => {
    const state = book(newReservations('u'), { from: 0, to: 10 });
    const [first] = Object.values(state.reservations);
    if (first === undefined) throw new Error('nothing was booked');
    expect(clashes(withReservation(state, { ...first, id: 'r2', from: 9, to: 12 }))).toEqual([
      'r1 and r2 on a',
    ]);
    expect(clashes(withReservation(state, { ...first, id: 'r2', from: 10, to: 12 }))).toEqual([]);
  });

  it('reserves all machines or none, and says when they are available', () => {
    const state = book(book(newReservations('u'), { from: 100, to: 200, count: 3 }), {
      from: 150,
      to: 300,
      count: 1,
    });
    expect(choose(state, { count: 2, computers, from: 160, to: 260 })).toEqual({
      lacking: expect.stringContaining(`0 of the 4 matching machines are free`) as string,
    });
    expect(choose(state, { count: 2, computers, from: 160, to: 260 })).toEqual({
      lacking: expect.stringContaining(`from ${new Date(200).toISOString()} on`) as string,
    });
    expect(choose(state, { count: 4, computers, from: 160, to: 260 })).toEqual({
      lacking: expect.stringContaining(`from ${new Date(300).toISOString()} on`) as string,
    });
    expect(choose(state, { count: 5, computers, from: 1_000, to: 1_001 })).not.toHaveProperty('chosen');
    expect(choose(state, { count: 3, computers, from: 200, to: 300 })).toMatchObject({
      chosen: [{ name: 'a' }, { name: 'b' }, { name: 'c' }],
    });
  });

  it('counts a machine in preparation as reserved, and a cancelled one as free at once', () => {
    const state = book(newReservations('u'), { from: 100, to: 200, count: 4 });
    const [first] = Object.values(state.reservations);
    if (first === undefined) throw new Error('nothing was booked');
    const span = { count: 1, computers, from: 80, to: 95 };
    expect(choose(state, span)).toHaveProperty('chosen');
    expect(
      choose(
        withReservation(state, {
          ...first,
          assignments: first.assignments.map((assignment) => ({ ...assignment, stage: 'loaded' })),
        }),
        span,
      ),
    ).toHaveProperty('lacking');
    expect(
      choose(endReservation(state, first, { at: 20, how: 'cancelled', why: 'test' }), { ...span, to: 300 }),
    ).toHaveProperty('chosen');
  });
});
