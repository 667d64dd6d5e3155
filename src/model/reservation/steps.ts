import type { ImageRef } from '../machine/image.js';
import type { MessageIntent } from '../machine/intents.js';
import { isTakenByEarlier, nextOn } from './calendar.js';
import { type Reservation, type ReservationsState, type Assignment, type StepName, isoOf } from './state.js';

/**
 * What a machine is asked next by its reservation, and what follows from its answer. The way there: hold,
 * load, reserve, log in. The way back: check whether it was used, then clear what its user left or write
 * another image; release.
 */
export function nextStep(
  state: ReservationsState,
  reservation: Reservation,
  assignment: Assignment,
  now: number,
): StepName | undefined {
  if (assignment.asking !== undefined) return assignment.asking;
  if (assignment.notBefore !== undefined && assignment.notBefore > now) return undefined;
  return reservation.over === undefined && assignment.givenUp === undefined
    ? stepThere(state, reservation, assignment, now)
    : stepBack(reservation, assignment);
}

function stepThere(
  state: ReservationsState,
  reservation: Reservation,
  assignment: Assignment,
  now: number,
): StepName | undefined {
  const { from, to, settings, readyAt, logInRequested } = reservation;
  switch (assignment.stage) {
    case 'booked':
      return now >= from - settings.prepareMs && !isTakenByEarlier(state, reservation, assignment.machine)
        ? 'hold'
        : undefined;
    case 'held':
      return 'load';
    case 'loaded':
      return 'reserve';
    case 'placed':
      if (assignment.heldUntil !== to) return 'extend';
      return readyAt !== undefined && logInRequested === true ? 'log in' : undefined;
    case 'in use':
      return assignment.heldUntil === to ? undefined : 'extend';
    default:
      return undefined;
  }
}

function stepBack({ readyAt }: Reservation, { stage, givenUp }: Assignment): StepName | undefined {
  switch (stage) {
    // No access was given, so there is nothing to revoke.
    case 'held':
    case 'loaded':
      return 'let go';
    case 'placed':
      return readyAt === undefined || givenUp !== undefined ? 'let go' : 'check';
    case 'in use':
    case 'used':
      return 'reload';
    case 'clean':
      return 'unload';
    case 'broken':
      return 'maintain';
    case 'cleared':
      return 'let go';
    case 'booked':
    case 'free':
      return undefined;
  }
}

export function intentOf(
  state: ReservationsState,
  reservation: Reservation,
  assignment: Assignment,
  step: StepName,
): MessageIntent {
  const { id, user, image, to, publicKey } = reservation;
  switch (step) {
    case 'hold':
    case 'extend':
      return { kind: 'hold', reservation: id, user, until: isoOf(to) };
    case 'load':
      return { kind: 'load', image };
    case 'reserve':
      return { kind: 'reserve', user };
    case 'log in':
      return { kind: 'log in', user, publicKey };
    case 'check':
      return { kind: 'status', image, logIns: true };
    case 'unload':
      return { kind: 'unload' };
    // It was used, so it needs no check first.
    case 'reload':
      return { kind: 'load', image: imageAfter(state, reservation, assignment), force: true };
    case 'maintain':
      return {
        kind: 'maintain',
        reason: `after reservation ${id}: ${assignment.why ?? 'it could not be cleared'}`,
      };
    case 'let go':
      return { kind: 'let go' };
  }
}

/** The image of the machine's next reservation, otherwise its default image. */
function imageAfter(
  state: ReservationsState,
  reservation: Reservation,
  { machine, defaultImage }: Assignment,
): ImageRef {
  return nextOn(state, { machine, reservation })?.reservation.image ?? defaultImage;
}

const minute = 60_000;

/** Until when a machine that is busy with something else is asked. */
export function askUntil({ from }: Reservation, step: StepName, now: number): number {
  return ['hold', 'load', 'reserve'].includes(step) ? Math.max(from, now) + 10 * minute : now + 120 * minute;
}

/** How long a reservation of these very machines waits past its beginning for users without a reservation. */
export const patienceMs = 2 * minute;
