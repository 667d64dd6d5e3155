import type { Candidate } from './messages.js';
import {
  activeAssignments,
  openReservations,
  type Reservation,
  type ReservationsState,
  type Assignment,
  isoOf,
} from './state.js';

/** A span of time: from its beginning up to, and without, its end. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

export interface Booking extends Span {
  readonly machine: string;
  readonly reservation: Reservation;
  readonly assignment: Assignment;
}

/** All bookings. An ended reservation frees its time at once; clearing its machines is up to the next one. */
function bookings(state: ReservationsState): readonly Booking[] {
  return openReservations(state)
    .flatMap((reservation) =>
      activeAssignments(reservation).map((assignment) => bookingOf(reservation, assignment)),
    )
    .filter(({ from, to }) => from < to);
}

/** What is being prepared is taken already. */
function bookingOf(reservation: Reservation, assignment: Assignment): Booking {
  const {
    from,
    to,
    over,
    settings: { prepareMs },
  } = reservation;
  const isBegun = assignment.stage !== 'booked' || assignment.asking !== undefined;
  return {
    machine: assignment.machine,
    from: isBegun ? from - prepareMs : from,
    to: over === undefined ? to : Math.min(to, over.at),
    reservation,
    assignment,
  };
}

export function overlaps(one: Span, other: Span): boolean {
  return one.from < other.to && other.from < one.to;
}

/** The first booking of a machine that is in the way, a reservation's own left out. */
export function inTheWay(
  state: ReservationsState,
  machine: string,
  span: Span,
  except?: string,
): Booking | undefined {
  return bookings(state)
    .filter(
      (booking) =>
        booking.machine === machine && booking.reservation.id !== except && overlaps(booking, span),
    )
    .toSorted((a, b) => a.from - b.from)[0];
}

/** The next reservation of a machine. */
export function nextOn(
  state: ReservationsState,
  { machine, reservation }: Pick<Booking, 'machine' | 'reservation'>,
): Booking | undefined {
  return bookings(state)
    .filter(
      (booking) =>
        booking.machine === machine &&
        booking.reservation.id !== reservation.id &&
        booking.reservation.over === undefined &&
        booking.reservation.from >= reservation.from,
    )
    .toSorted((a, b) => a.from - b.from)[0];
}

/** A machine is not prepared before its earlier users are out. */
export function isTakenByEarlier(
  state: ReservationsState,
  { id, from }: Reservation,
  machine: string,
): boolean {
  return openReservations(state).some(
    (other) =>
      other.id !== id &&
      (other.from < from || other.over !== undefined) &&
      other.assignments.some((assignment) => assignment.machine === machine && assignment.stage !== 'free'),
  );
}

export type Choice = { readonly chosen: readonly Candidate[] } | { readonly lacking: string };

export interface ChoiceRequest extends Span {
  readonly count: number;
  readonly computers: readonly Candidate[];
}

/** As many machines as are wanted, each free for the whole time, or words. */
export function choose(state: ReservationsState, { count, computers, from, to }: ChoiceRequest): Choice {
  const busy = busyTimes(state);
  const free = freeAt(busy, computers, { from, to });
  if (free.length >= count) return { chosen: free.slice(0, count) };
  const named =
    computers.length === count
      ? computers.flatMap(({ name }) => inTheWay(state, name, { from, to }) ?? [])
      : [];
  const who = named
    .map(
      ({ machine, reservation }) =>
        `machine ${machine} is reserved for ${reservation.user} from ${isoOf(reservation.from)} to ${isoOf(reservation.to)} (${reservation.id})`,
    )
    .slice(0, 3);
  const how = `${free.length} of the ${computers.length} matching machines ${free.length === 1 ? 'is' : 'are'} free from ${isoOf(from)} to ${isoOf(to)}, but ${count} ${count === 1 ? 'is' : 'are'} requested`;
  const earliest = earliestStart(busy, { count, computers, from, to });
  return {
    lacking: [
      who.length > 0 ? who.join('; ') : how,
      ...(earliest === undefined ? [] : [`the same duration is available from ${isoOf(earliest)} on`]),
    ].join('; '),
  };
}

type BusyTimes = ReadonlyMap<string, readonly Span[]>;

function busyTimes(state: ReservationsState): BusyTimes {
  const busy = new Map<string, Span[]>();
  for (const { machine, from, to } of bookings(state))
    busy.set(machine, [...(busy.get(machine) ?? []), { from, to }]);
  return busy;
}

function freeAt(busy: BusyTimes, computers: readonly Candidate[], span: Span): readonly Candidate[] {
  return computers.filter(({ name }) => !(busy.get(name) ?? []).some((taken) => overlaps(taken, span)));
}

/** When enough machines are free for the same length of time: that can only begin where something ends. */
function earliestStart(busy: BusyTimes, { count, computers, from, to }: ChoiceRequest): number | undefined {
  if (computers.length < count) return undefined;
  const ends = [...new Set(computers.flatMap(({ name }) => (busy.get(name) ?? []).map((span) => span.to)))]
    .filter((end) => end > from)
    .toSorted((a, b) => a - b);
  return ends
    .slice(0, 200)
    .find((start) => freeAt(busy, computers, { from: start, to: start + to - from }).length >= count);
}
