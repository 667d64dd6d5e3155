import { describe, expect, it } from 'vitest';
import { afterStep } from '../../../src/model/reservation/after-step.js';
import { packReservations } from '../../../src/model/reservation/carry.js';
import { refuseEnd, refuseRequest } from '../../../src/model/reservation/check.js';
import { endReservation, lacking, nextDue, applyTime } from '../../../src/model/reservation/decide.js';
import type { OperateMachineReply } from '../../../src/model/reservation/messages.js';
import {
  newReservations,
  stateOf,
  withReservation,
  type Reservation,
  type ReservationsState,
  type Assignment,
  type StepName,
} from '../../../src/model/reservation/state.js';
import { intentOf, nextStep } from '../../../src/model/reservation/steps.js';

const image = { name: 'web', revision: '2' };
const usual = { name: 'host', revision: '1' };
const done: OperateMachineReply = { is: 'done', notes: [] };
const settings = { prepareMs: 100, remindMs: 50, longestMs: 10_000 };

function assignment(machine: string, part: Partial<Assignment> = {}): Assignment {
  return { machine, uid: machine, defaultImage: usual, stage: 'booked', asked: 0, tries: 0, ...part };
}

function reservation(part: Partial<Reservation> = {}): Reservation {
  return {
    id: 'r1',
    user: 'ada',
    image,
    from: 1_000,
    to: 2_000,
    by: 'test',
    askedAt: 0,
    wanted: { count: 1 },
    settings,
    assignments: [assignment('a')],
    tried: [],
    notes: [],
    ...part,
  };
}

function stateWith(...all: readonly Reservation[]): ReservationsState {
  return all.reduce(withReservation, newReservations('u'));
}

/** Carries out steps with the answers that are given, until nothing is to be done, and gives the steps. */
function play(
  start: ReservationsState,
  now: number,
  answers: Readonly<Partial<Record<StepName, OperateMachineReply>>> = {},
): { readonly steps: readonly string[]; readonly state: ReservationsState } {
  let state = applyTime(start, now);
  const steps: string[] = [];
  for (let batchSlots = 0; batchSlots < 50; batchSlots += 1) {
    const next = Object.values(state.reservations)
      .flatMap((one) =>
        one.assignments.map((place) => ({ one, place, step: nextStep(state, one, place, now) })),
      )
      .find(({ step }) => step !== undefined);
    if (next?.step === undefined) return { steps, state };
    steps.push(`${next.place.machine} ${next.step}`);
    state = applyTime(
      afterStep(state, next.one, next.place, {
        step: next.step,
        reply: answers[next.step] ?? done,
        now,
        to: next.one.to,
      }),
      now,
    );
  }
  throw new Error(`it does not come to an end: ${steps.join(', ')}`);
}

function firstOf(state: ReservationsState, id = 'r1'): Reservation {
  const found = state.reservations[id];
  if (found === undefined) throw new Error(`there is no ${id}`);
  return found;
}

describe('operations on the machines of a reservation', () => {
  it('do nothing before its time; then hold, load, reserve; and it is ready in time', () => {
    expect(play(stateWith(reservation()), 899).steps).toEqual([]);
    expect(nextDue(stateWith(reservation()), 0)).toBe(900);
    const early = play(stateWith(reservation()), 900);
    expect(early.steps).toEqual(['a hold', 'a load', 'a reserve']);
    expect(stateOf(firstOf(early.state))).toBe('prepared');
    const ready = play(early.state, 1_000).state;
    expect(stateOf(firstOf(ready))).toBe('ready');
    expect(ready.notifications.map(({ event }) => event)).toEqual(['ready']);
    expect(play(ready, 1_950).state.notifications.map(({ event }) => event)).toEqual(['ready', 'reminder']);
  });

  it("unload a user's machine: it gets the image of the next reservation, else the default image", () => {
    const used = reservation({
      readyAt: 1_000,
      logInRequested: true,
      assignments: [assignment('a', { stage: 'in use', heldUntil: 2_000 })],
    });
    const next = reservation({
      id: 'r2',
      user: 'bob',
      image: { name: 'db', revision: '7' },
      from: 5_000,
      to: 6_000,
    });
    const over = play(stateWith(used, next), 2_000);
    expect(over.steps).toEqual(['a reload', 'a let go']);
    const place = used.assignments[0] ?? assignment('a');
    expect(intentOf(stateWith(used, next), used, place, 'reload')).toEqual({
      kind: 'load',
      image: { name: 'db', revision: '7' },
      force: true,
    });
    expect(intentOf(stateWith(used), used, place, 'reload')).toEqual({
      kind: 'load',
      image: usual,
      force: true,
    });
    expect(stateOf(firstOf(over.state))).toBe('ended');
    expect(firstOf(over.state).closedAt).toBe(2_000);
  });

  it.each([
    ['READY', ['a check', 'a unload', 'a let go']],
    ['POST_LOAD', ['a check', 'a unload', 'a let go']],
    ['RELOAD', ['a check', 'a reload', 'a let go']],
  ] as const)('treat as unused a user who never got a login, and a machine that is %s', (verdict, steps) => {
    const placed = reservation({
      readyAt: 1_000,
      assignments: [assignment('a', { stage: 'placed', heldUntil: 2_000 })],
    });
    expect(play(stateWith(placed), 2_000, { check: { ...done, verdict } }).steps).toEqual(steps);
  });

  it('repeat requests without an answer, then report them to operators; nothing is loaded', () => {
    let state = stateWith(
      reservation({ readyAt: 1_000, assignments: [assignment('a', { stage: 'placed', heldUntil: 2_000 })] }),
    );
    const steps: string[] = [];
    for (let now = 2_000; now < 400_000; now += 40_000) {
      const played = play(state, now, { check: { ...done, verdict: 'UNKNOWN' } });
      steps.push(...played.steps);
      ({ state } = played);
    }
    expect(steps).toEqual([...Array.from({ length: 5 }, () => 'a check'), 'a maintain', 'a let go']);
  });

  it('load a machine that cannot be cleared, and take one out of use that cannot be loaded', () => {
    const placed = reservation({
      readyAt: 1_000,
      assignments: [assignment('a', { stage: 'placed', heldUntil: 2_000 })],
    });
    const failed: OperateMachineReply = { is: 'not done', answer: 'not done', why: 'no room' };
    const end = play(stateWith(placed), 2_000, {
      check: { ...done, verdict: 'READY' },
      unload: failed,
      reload: failed,
    });
    expect(end.steps).toEqual(['a check', 'a unload', 'a reload', 'a maintain', 'a let go']);
    expect(end.state.notifications.map(({ event }) => event)).toEqual(['ended', 'attention']);
  });

  it('give up a machine that cannot be reserved; earlier requests are awaited', () => {
    const failed: OperateMachineReply = { is: 'not done', answer: 'unknown', why: 'silence' };
    const given = play(
      stateWith(reservation({ wanted: { count: 2 }, assignments: [assignment('a'), assignment('b')] })),
      950,
      { load: failed },
    );
    expect(given.steps).toEqual(['a hold', 'a load', 'a let go', 'b hold', 'b load', 'b let go']);
    expect(lacking(firstOf(given.state))).toBe(2);
    const cut = stateWith(reservation({ assignments: [assignment('a', { asking: 'hold' })] }));
    expect(
      play(endReservation(cut, firstOf(cut), { at: 950, how: 'cancelled', why: 'test' }), 950).steps,
    ).toEqual(['a hold', 'a let go']);
  });

  it('release a machine later that is busy at the end', () => {
    const over = reservation({
      over: { at: 1_500, how: 'cancelled', why: 'cancelled' },
      assignments: [assignment('a', { stage: 'held' })],
    });
    const busy = play(stateWith(over), 1_500, {
      'let go': { is: 'not done', answer: 'not done', why: 'it is busy' },
    });
    expect(busy.steps).toEqual(['a let go']);
    expect(stateOf(firstOf(busy.state))).toBe('ending');
    const later = nextDue(busy.state, 1_500) ?? 0;
    const free = play(busy.state, later);
    expect(free.steps).toEqual(['a let go']);
    expect(stateOf(firstOf(free.state))).toBe('cancelled');
  });

  it('tolerate two unanswered requests for a machine that is reserved by name', () => {
    const failed: OperateMachineReply = { is: 'not done', answer: 'unknown', why: 'silence' };
    let state = stateWith(
      reservation({
        from: 90_000,
        to: 200_000,
        settings: { ...settings, prepareMs: 90_000 },
        wanted: { count: 1, machines: ['a'] },
      }),
    );
    const steps: string[] = [];
    for (const now of [1_000, 12_000, 23_000, 34_000]) {
      const played = play(state, now, { load: failed });
      steps.push(...played.steps);
      ({ state } = played);
    }
    expect(steps).toEqual(['a hold', 'a load', 'a load', 'a load', 'a let go']);
  });

  it('begin only after the previous users of a machine are out', () => {
    const used = reservation({
      readyAt: 1_000,
      assignments: [assignment('a', { stage: 'in use', heldUntil: 2_000 })],
    });
    const next = reservation({ id: 'r2', from: 2_000, to: 3_000 });
    expect(play(stateWith(used, next), 1_990).steps).toEqual([]);
    expect(play(stateWith(used, next), 2_000).steps).toEqual([
      'a reload',
      'a let go',
      'a hold',
      'a load',
      'a reserve',
    ]);
  });

  it("extend the machine's reservation", () => {
    const used = reservation({
      to: 3_000,
      readyAt: 1_000,
      assignments: [assignment('a', { stage: 'in use', heldUntil: 2_000 })],
    });
    expect(play(stateWith(used), 1_500).steps).toEqual(['a extend']);
  });

  it('fail a reservation whose time ends before it is ready', () => {
    const { state } = play(
      stateWith(reservation({ assignments: [assignment('a', { stage: 'held', heldUntil: 2_000 })] })),
      2_001,
    );
    expect(stateOf(firstOf(state))).toBe('failed');
    expect(state.notifications.map(({ event }) => event)).toEqual(['failed']);
  });
});

describe('reservations that are refused without a machine check', () => {
  const asked = { user: 'ada', image, to: 100_000, wanted: { count: 1 }, by: 'test' };

  it.each([
    [{ from: 0 }, /starts at 1970-.* past/],
    [{ from: 200_000, to: 150_000 }, /not after its start/],
    [{ to: 150_000 }, undefined],
    [{ to: Number.NaN }, /milliseconds/],
    [{ to: 150_000, wanted: { count: 51 } }, /1 to 50 machines, not 51/],
    [{ to: 150_000, wanted: { count: 2, machines: ['a'] } }, /1 machines are listed, but 2/],
    [{ to: 150_000, wanted: { count: 2, machines: ['a', 'a'] } }, /listed twice/],
    [{ from: 400 * 86_400_000, to: 401 * 86_400_000 }, /more than a year/],
    [{ to: 150_000, user: 'x'.repeat(101) }, /at most 100/],
    [{ to: 150_000, image: { name: '../x', revision: '1' } }, /not a valid image/],
  ] as const)('%j', (part, expected) => {
    const why = refuseRequest(newReservations('u'), { ...asked, ...part }, 100_000);
    if (expected === undefined) expect(why).toBeUndefined();
    else expect(why).toMatch(expected);
  });

  it('more than the limit at once, which still fits into one message', () => {
    const notes = Array.from({ length: 12 }, (_, at) => ({ at, text: 'x'.repeat(400) }));
    const many = (count: number): ReservationsState =>
      stateWith(
        ...Array.from({ length: count }, (_, index) =>
          reservation({
            id: `r${index + 1}`,
            user: 'u'.repeat(100),
            notes,
            assignments: Array.from({ length: 4 }, (__, of) =>
              assignment(`machine-with-a-long-name-number-${index}-${of}`, { why: 'y'.repeat(100) }),
            ),
          }),
        ),
      );
    expect(refuseRequest(many(500), { ...asked, to: 150_000 }, 100_000)).toMatch(/500 open reservations/);
    const packed = packReservations(many(500));
    expect(JSON.stringify(packed).length).toBeLessThan(1_200_000);
    expect(Object.keys(packed.reservations)).toHaveLength(500);
  });
});

describe('the end of a reservation', () => {
  const ends = (part: Partial<Reservation>, now: number): readonly boolean[] => {
    const state = stateWith(reservation(part));
    return (['cancelled', 'returned'] as const).map((how) => refuseEnd(state, 'r1', how, now) === undefined);
  };

  it('is by cancel until it is ready, and by return from its start on', () => {
    expect(ends({}, 999)).toEqual([true, false]);
    expect(ends({}, 1_000)).toEqual([true, true]);
    expect(ends({ readyAt: 1_100 }, 1_100)).toEqual([false, true]);
    expect(ends({ over: { at: 1_100, how: 'returned', why: 'enough' } }, 1_200)).toEqual([false, false]);
  });
});
