import { readPublicKey } from '../machine/access.js';
import { parseImageRef } from '../machine/image.js';
import { inTheWay } from './calendar.js';
import type { LogInRequest, ExtendRequest, ReserveRequest } from './contract.js';
import {
  type ReservationSettings,
  activeAssignments,
  openReservations,
  stateOf,
  type Reservation,
  type ReservationsState,
  isoOf,
} from './state.js';

const minute = 60_000;
const day = 24 * 60 * minute;
/** Open reservations at once: the state carried from run to run is limited. */
const mostOpen = 500;
/** Machines of one reservation. */
export const mostMachines = 50;
/** Machines of all open reservations. */
export const maxAssignments = 2_000;
/** How far ahead one may begin. */
const furthestMs = 366 * day;
const shortestMs = 1_000;
const longestName = 100;
/** Clocks differ, and messages setState their time. */
const lateMs = minute;

/** Why a request is refused without considering any machine; undefined if it is not. */
export function refuseRequest(
  state: ReservationsState,
  { user, image, from, to, wanted: { count, machines } }: ReserveRequest,
  now: number,
): string | undefined {
  const open = openReservations(state);
  const begins = from ?? now;
  if (![begins, to].every(Number.isFinite)) return 'its times must be in milliseconds since the epoch';
  if (typeof user !== 'string' || user.length < 1 || user.length > longestName)
    return `its user must be a name of at most ${longestName} characters`;
  if (parseImageRef(`${image.name}@${image.revision}`) === undefined)
    return `${image.name}@${image.revision} is not a valid image`;
  if (machines !== undefined && new Set(machines).size !== machines.length)
    return 'a machine is listed twice';
  if (machines !== undefined && machines.length !== count)
    return `${machines.length} machines are listed, but ${count} are requested`;
  if (begins < now - lateMs)
    return `it starts at ${isoOf(begins)}, which is in the past; it is ${isoOf(now)} now`;
  if (to <= begins) return `it ends at ${isoOf(to)}, which is not after its start at ${isoOf(begins)}`;
  if (to <= now) return `it ends at ${isoOf(to)}, which is in the past; it is ${isoOf(now)} now`;
  if (to - begins < shortestMs) return 'a reservation must last at least a second';
  if (begins > now + furthestMs) return `it starts at ${isoOf(begins)}, more than a year from now`;
  if (!Number.isSafeInteger(count) || count < 1 || count > mostMachines)
    return `a reservation must have 1 to ${mostMachines} machines, not ${count}`;
  if (open.length >= mostOpen)
    return `the limit of ${open.length} open reservations is reached; cancel some, or wait until some end`;
  const assignments = open.reduce((sum, { assignments: { length } }) => sum + length, 0);
  if (assignments + count > maxAssignments)
    return `${assignments} machines are reserved, and the limit is ${maxAssignments}; cancel reservations, or wait until some end`;
  return undefined;
}

/** What depends on the configuration of workers. */
export function refuseLength(
  { from, to }: { readonly from: number; readonly to: number },
  { longestMs }: ReservationSettings,
): string | undefined {
  if (to - from <= longestMs) return undefined;
  return `it lasts ${wordsOfTime(to - from)}; the limit is ${wordsOfTime(longestMs)}`;
}

export function refuseExtension(state: ReservationsState, { id, to }: ExtendRequest): string | undefined {
  const reservation = state.reservations[id];
  if (reservation === undefined) return unknownText(id);
  if (reservation.over !== undefined) return `reservation ${id} is over: ${reservation.over.why}`;
  if (to <= reservation.to)
    return `reservation ${id} lasts until ${isoOf(reservation.to)}, and ${isoOf(to)} is not later; to end it early, run 'heddle reservation return ${id}'`;
  const tooLong = refuseLength({ from: reservation.from, to }, reservation.settings);
  if (tooLong !== undefined) return tooLong;
  const blocking = activeAssignments(reservation)
    .map(({ machine }) => inTheWay(state, machine, { from: reservation.to, to }, id))
    .find((found) => found !== undefined);
  if (blocking === undefined) return undefined;
  const { machine, reservation: next } = blocking;
  return `machine ${machine} is reserved for ${next.user} from ${isoOf(next.from)} on (${next.id}), so reservation ${id} can be extended at most until ${isoOf(Math.max(blocking.from, reservation.to))}`;
}

/**
 * A reservation can be cancelled until it is ready, and returned from its start on: between
 * these, both end it.
 */
export function refuseEnd(
  state: ReservationsState,
  id: string,
  how: 'cancelled' | 'returned',
  now: number,
): string | undefined {
  const reservation = state.reservations[id];
  if (reservation === undefined) return unknownText(id);
  if (reservation.over !== undefined) return `reservation ${id} is over: ${reservation.over.why}`;
  if (how === 'returned' && reservation.readyAt === undefined && reservation.from > now)
    return `reservation ${id} is ${stateOf(reservation)}, so there is nothing to return; to end it, run 'heddle reservation cancel ${id}'`;
  if (how === 'cancelled' && reservation.readyAt !== undefined)
    return `reservation ${id} is ${stateOf(reservation)}; to end it, run 'heddle reservation return ${id}'`;
  return undefined;
}

export function refuseLogIn(state: ReservationsState, { id, publicKey }: LogInRequest): string | undefined {
  const reservation = state.reservations[id];
  if (reservation === undefined) return unknownText(id);
  if (reservation.over !== undefined) return `reservation ${id} is over: ${reservation.over.why}`;
  if (reservation.readyAt === undefined)
    return `reservation ${id} is ${stateOf(reservation)} and starts at ${isoOf(reservation.from)}${whyOf(reservation)}`;
  if (publicKey === undefined || publicKey === reservation.publicKey) return undefined;
  if (readPublicKey(publicKey) !== publicKey) return 'its key must be the public key of an OpenSSH key pair';
  const isOpen =
    reservation.logInRequested === true || reservation.assignments.some(({ stage }) => stage === 'in use');
  return isOpen ? `reservation ${id} is already open; a key can be set only at the first log-in` : undefined;
}

function unknownText(id: string): string {
  return `reservation ${id} does not exist; run 'heddle reservation list --all' to see the existing ones`;
}

function whyOf(reservation: Reservation): string {
  const why = activeAssignments(reservation).flatMap((assignment) =>
    assignment.why === undefined ? [] : [`${assignment.machine}: ${assignment.why}`],
  );
  return why.length === 0 ? '' : `: ${why.join('; ')}`;
}

function wordsOfTime(ms: number): string {
  if (ms % day === 0) return `${ms / day} days`;
  return ms >= 60 * minute ? `${Math.round(ms / (6 * minute)) / 10} hours` : `${Math.round(ms / 1_000)} s`;
}
