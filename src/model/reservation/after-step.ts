import type { OperateMachineReply } from './messages.js';
import {
  rememberedTries,
  withNote,
  withReservation,
  withAssignment,
  type Reservation,
  type ReservationsState,
  type Assignment,
  type AssignmentStage,
  type StepName,
} from './state.js';
import { patienceMs } from './steps.js';
import { withNotification } from './notification.js';

export interface StepEnd {
  readonly step: StepName;
  readonly reply: OperateMachineReply;
  readonly now: number;
  /** The end of the reservation when the machine was asked. */
  readonly to: number;
}

/** Takes over what a machine answered. */
export function afterStep(
  state: ReservationsState,
  reservation: Reservation,
  assignment: Assignment,
  end: StepEnd,
): ReservationsState {
  const { asking: _asking, notBefore: _notBefore, ...settled } = assignment;
  const next = { ...settled, asked: assignment.asked + 1 };
  const { step, reply } = end;
  if (step === 'check') return afterCheck(state, reservation, next, end);
  if (reply.is === 'done')
    return withReservation(state, withAssignment(afterDone(reservation, next, end), advance(next, end)));
  return afterFailure(state, reservation, next, { ...end, step, why: reply.why });
}

const reached: Readonly<Partial<Record<StepName, AssignmentStage>>> = {
  hold: 'held',
  load: 'loaded',
  reserve: 'placed',
  'log in': 'in use',
  unload: 'cleared',
  reload: 'cleared',
  maintain: 'cleared',
  'let go': 'free',
};

function advance(assignment: Assignment, { step, to }: StepEnd): Assignment {
  const { why: _why, ...well } = assignment;
  const stage = reached[step] ?? assignment.stage;
  const kept = step === 'maintain' || step === 'let go' ? assignment : well;
  return { ...kept, stage, tries: 0, ...(step === 'hold' || step === 'extend' ? { heldUntil: to } : {}) };
}

function afterDone(
  reservation: Reservation,
  { machine }: Assignment,
  { step, reply, now }: StepEnd,
): Reservation {
  const did: Readonly<Partial<Record<StepName, string>>> = {
    load: `${machine} has its image`,
    'log in': `${machine} was opened to ${reservation.user}`,
    unload: `${machine} was cleaned up after its user`,
    reload: `${machine} was reloaded`,
    maintain: `${machine} is in maintenance`,
  };
  const text = did[step];
  const more =
    reply.is === 'done' && step === 'load' && reply.notes.length > 0 ? `: ${reply.notes.join('; ')}` : '';
  return text === undefined ? reservation : withNote(reservation, now, `${text}${more}`);
}

/** Unanswered attempts, and their interval, after which a machine needs an administrator. */
const silences = 5;
const askAgainMs = 30_000;
/**
 * How often a load is asked for again when its outcome is unknown, where these very machines are
 * wanted.
 */
const silentLoads = 2;

/**
 * Handles the check after a reservation: it determines whether the machine may have been used,
 * not whether it is healthy.
 */
function afterCheck(
  state: ReservationsState,
  reservation: Reservation,
  assignment: Assignment,
  { reply, now }: StepEnd,
): ReservationsState {
  const verdict = reply.is === 'done' ? reply.verdict : undefined;
  if (verdict === 'READY' || verdict === 'POST_LOAD')
    return withReservation(state, withAssignment(reservation, { ...assignment, stage: 'clean', tries: 0 }));
  if (verdict === 'RELOAD')
    return withReservation(state, withAssignment(reservation, { ...assignment, stage: 'used', tries: 0 }));
  // It no longer belongs to this reservation.
  if (reply.is === 'gone' || reply.is === 'refused')
    return withReservation(
      state,
      withAssignment(withNote(reservation, now, `${assignment.machine}: ${reply.why}`), {
        ...assignment,
        stage: 'free',
        why: reply.why,
      }),
    );
  const why = reply.is === 'done' ? 'it is unknown whether it was used' : reply.why;
  if (assignment.tries + 1 < silences)
    return withReservation(
      state,
      withAssignment(reservation, {
        ...assignment,
        tries: assignment.tries + 1,
        notBefore: now + askAgainMs,
        why,
      }),
    );
  return withReservation(
    state,
    withAssignment(withNote(reservation, now, `${assignment.machine}: ${why}`), {
      ...assignment,
      stage: 'broken',
      tries: 0,
      why,
    }),
  );
}

interface FailedStep extends StepEnd {
  readonly step: Exclude<StepName, 'check'>;
  readonly why: string;
}

function afterFailure(
  state: ReservationsState,
  reservation: Reservation,
  assignment: Assignment,
  { step, reply, now, why }: FailedStep,
): ReservationsState {
  const noted = withNote(reservation, now, `${assignment.machine}: ${step}: ${why}`);
  const isGone = reply.is === 'gone';
  switch (step) {
    case 'hold':
      // A user without a reservation may leave it in time; where any machine would do, another
      // one is quicker.
      if (
        !isGone &&
        reservation.wanted.machines !== undefined &&
        reservation.over === undefined &&
        now < reservation.from + patienceMs
      ) {
        return withReservation(
          state,
          withAssignment(assignment.why === why ? reservation : noted, {
            ...assignment,
            notBefore: now + 10_000,
            why,
          }),
        );
      }
      return giveUpMachine(state, noted, { ...assignment, stage: 'free' }, why);
    case 'load':
      // The silence may end, and there is no other machine.
      if (
        reply.is === 'not done' &&
        reply.answer === 'unknown' &&
        reservation.wanted.machines !== undefined &&
        assignment.tries < silentLoads
      ) {
        return withReservation(
          state,
          withAssignment(noted, { ...assignment, tries: assignment.tries + 1, notBefore: now + 10_000, why }),
        );
      }
      return giveUpMachine(state, noted, isGone ? { ...assignment, stage: 'free' } : assignment, why);
    case 'reserve':
      return giveUpMachine(state, noted, isGone ? { ...assignment, stage: 'free' } : assignment, why);
    case 'log in':
      return withReservation(state, withAssignment(withoutLogInRequest(noted), { ...assignment, why }));
    case 'extend':
      return withReservation(
        state,
        withAssignment(noted, { ...assignment, notBefore: now + askAgainMs, why }),
      );
    case 'unload':
      return withReservation(
        state,
        withAssignment(noted, { ...assignment, stage: isGone ? 'free' : 'used', why }),
      );
    case 'reload':
      return attention(
        state,
        withAssignment(noted, { ...assignment, stage: isGone ? 'free' : 'broken', why }),
        `machine ${assignment.machine} could not be loaded after reservation ${reservation.id}: ${why}`,
        now,
      );
    case 'maintain':
      return withReservation(
        state,
        withAssignment(noted, { ...assignment, stage: isGone ? 'free' : 'cleared', why }),
      );
    case 'let go':
      // Until it is released, it refuses all others.
      if (reply.is === 'not done')
        return withReservation(
          state,
          withAssignment(noted, { ...assignment, notBefore: now + askAgainMs, why }),
        );
      return withReservation(
        state,
        withAssignment(isGone ? reservation : noted, { ...assignment, stage: 'free', why }),
      );
  }
}

/** Continues the reservation with another machine if there is one, and releases this one. */
function giveUpMachine(
  state: ReservationsState,
  reservation: Reservation,
  assignment: Assignment,
  why: string,
): ReservationsState {
  return withReservation(
    state,
    withAssignment(
      { ...reservation, tried: [...reservation.tried, assignment.machine].slice(-rememberedTries) },
      { ...assignment, givenUp: why, why },
    ),
  );
}

function attention(
  state: ReservationsState,
  reservation: Reservation,
  text: string,
  now: number,
): ReservationsState {
  return withNotification(withReservation(state, reservation), 'attention', reservation, text, now);
}

/** The user asks again. */
function withoutLogInRequest({ logInRequested: _logInRequested, ...reservation }: Reservation): Reservation {
  return reservation;
}
