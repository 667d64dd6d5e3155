import { cutText } from '../carried.js';
import type { ImageRef } from '../machine/image.js';
import type { MachineFilter } from '../machine/selection.js';
import type { Webhook } from '../event.js';

/** All reservations of an installation: the calendar. Moments are in ms since the epoch. */
export interface ReservationsState {
  readonly uid: string;
  /** Reservations so far; the next one's number. */
  readonly numbers: number;
  /** Those that are not over, and the newest of those that are, by their ids; oldest first. */
  readonly reservations: Readonly<Record<string, Reservation>>;
  /** Notifications that are not sent yet, oldest first. */
  readonly notifications: readonly ReservationNotification[];
  /** The webhooks of the worker that last searched for machines, if any. */
  readonly webhooks?: readonly Webhook[];
}

/** An image on machines, for a user, from a time to a time. */
export interface Reservation {
  readonly id: string;
  readonly user: string;
  readonly image: ImageRef;
  readonly from: number;
  readonly to: number;
  readonly by: string;
  readonly askedAt: number;
  readonly wanted: Wanted;
  readonly settings: ReservationSettings;
  /** One for each machine; those that were given up stay until they are free. */
  readonly assignments: readonly Assignment[];
  /** Machines that were tried in vain. */
  readonly tried: readonly string[];
  /** When all machines were prepared and its time had come. */
  readonly readyAt?: number;
  readonly reminded?: true;
  /** The user requested the login. */
  readonly logInRequested?: true;
  /** The user's public key, where one was given. */
  readonly publicKey?: string;
  /** It is over; machines may still have to be cleared. */
  readonly over?: { readonly at: number; readonly how: (typeof ends)[number]; readonly why: string };
  /** When all its machines were free again. */
  readonly closedAt?: number;
  /** Newest last. */
  readonly notes: readonly Note[];
}

interface Note {
  readonly at: number;
  readonly text: string;
}

/** How far a machine has come in its reservation; each is reached by one operation of the machine. */
export const assignmentStages = [
  'booked',
  'held',
  'loaded',
  'placed',
  'in use',
  'used',
  'clean',
  'broken',
  'cleared',
  'free',
] as const;
export type AssignmentStage = (typeof assignmentStages)[number];

/** One machine in one reservation. */
export interface Assignment {
  readonly machine: string;
  /** A machine registered anew under the name is a different one. */
  readonly uid: string;
  /** What it is loaded with after its user, where no reservation follows. */
  readonly defaultImage: ImageRef;
  readonly stage: AssignmentStage;
  /** What the machine was asked and has not answered; it is asked the same again until it has. */
  readonly asking?: StepName;
  /** What the machine was asked so far: names each request for ever. */
  readonly asked: number;
  /** Until when the machine is held, as it reports. */
  readonly heldUntil?: number;
  /** Not asked again before this. */
  readonly notBefore?: number;
  /** Number of consecutive inconclusive answers. */
  readonly tries: number;
  /** The reservation continues without this machine. */
  readonly givenUp?: string;
  /** The reason for its stage, for people. */
  readonly why?: string;
}

const stepNames = [
  'hold',
  'load',
  'reserve',
  'log in',
  'extend',
  'check',
  'unload',
  'reload',
  'maintain',
  'let go',
] as const;
export type StepName = (typeof stepNames)[number];

const ends = ['ended', 'returned', 'cancelled', 'failed'] as const;
export const reservationStates = [
  'booked',
  'preparing',
  'prepared',
  'ready',
  'in use',
  'ending',
  ...ends,
] as const;
export type ReservationState = (typeof reservationStates)[number];

export function stateOf({ over, closedAt, readyAt, assignments }: Reservation): ReservationState {
  if (over !== undefined) return closedAt === undefined ? 'ending' : over.how;
  const active = activeAssignments({ assignments });
  if (readyAt !== undefined) return active.some(({ stage }) => stage === 'in use') ? 'in use' : 'ready';
  if (active.length > 0 && active.every(({ stage }) => stage === 'placed')) return 'prepared';
  return assignments.every(({ stage, asking }) => stage === 'booked' && asking === undefined)
    ? 'booked'
    : 'preparing';
}

/** It is part of what the user gets. */
export function isActive({ givenUp, stage }: Assignment): boolean {
  return givenUp === undefined && stage !== 'free';
}

export function activeAssignments({ assignments }: Pick<Reservation, 'assignments'>): readonly Assignment[] {
  return assignments.filter(isActive);
}

export function openReservations({ reservations }: ReservationsState): readonly Reservation[] {
  return Object.values(reservations).filter(({ closedAt }) => closedAt === undefined);
}

/** Closed reservations that are remembered. */
const remembered = 100;
const notesKept = 12;
/** In bytes of JSON. */
const noteBytes = 400;
const whyBytes = 300;
/** Machines that were tried in vain and are not tried again. */
export const rememberedTries = 100;

export function withNote(reservation: Reservation, at: number, text: string): Reservation {
  return {
    ...reservation,
    notes: [...reservation.notes, { at, text: cutText(text, noteBytes) }].slice(-notesKept),
  };
}

export function withReservation(state: ReservationsState, reservation: Reservation): ReservationsState {
  const all = { ...state.reservations, [reservation.id]: reservation };
  if (reservation.closedAt === undefined) return { ...state, reservations: all };
  const closed = Object.values(all).filter(({ closedAt }) => closedAt !== undefined);
  const dropped = new Set(closed.slice(0, Math.max(0, closed.length - remembered)).map(({ id }) => id));
  return {
    ...state,
    reservations: Object.fromEntries(Object.entries(all).filter(([id]) => !dropped.has(id))),
  };
}

export function withAssignment(reservation: Reservation, assignment: Assignment): Reservation {
  const { why, givenUp } = assignment;
  const short: Assignment = {
    ...assignment,
    ...(why === undefined ? {} : { why: cutText(why, whyBytes) }),
    ...(givenUp === undefined ? {} : { givenUp: cutText(givenUp, whyBytes) }),
  };
  return {
    ...reservation,
    assignments: reservation.assignments.map((other) =>
      other.machine === assignment.machine ? short : other,
    ),
  };
}

export function newReservations(uid: string): ReservationsState {
  return { uid, numbers: 0, reservations: {}, notifications: [] };
}

/**
 * Events that are notified.
 * `ready`: the user may log in. `reminder`: it ends soon. `moved`: another machine replaced one.
 * `ended`, `failed`: it is over. `attention`: a machine needs an administrator.
 */
export const notificationEvents = ['ready', 'reminder', 'moved', 'ended', 'failed', 'attention'] as const;

export type NotificationEvent = (typeof notificationEvents)[number];

export interface ReservationNotification {
  /** The same however often it is sent. */
  readonly id: string;
  readonly event: NotificationEvent;
  /** RFC 3339. */
  readonly at: string;
  readonly text: string;
  readonly reservation: {
    readonly id: string;
    readonly user: string;
    readonly image: string;
    readonly from: string;
    readonly to: string;
    readonly machines: readonly string[];
  };
}

export function isoOf(at: number): string {
  return new Date(at).toISOString();
}

/** Which machines would do. */
export interface Wanted extends MachineFilter {
  readonly count: number;
  /** These and no others. */
  readonly machines?: readonly string[];
  /** The provisioning system. */
  readonly type?: string;
  /** Machine actions that it can do, such as POWER_RESET. */
  readonly can?: readonly string[];
}

/** As heddle.yaml has them; a reservation keeps those that it was made under. */
export interface ReservationSettings {
  /** How long before its time its machines are prepared. */
  readonly prepareMs: number;
  /** How long before its end its user is reminded. */
  readonly remindMs: number;
  /** Longest reservation. */
  readonly longestMs: number;
}
