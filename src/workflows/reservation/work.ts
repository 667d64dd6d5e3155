import { ActivityFailure, CancellationScope, isCancellation, sleep } from '@temporalio/workflow';
import { afterStep } from '../../model/reservation/after-step.js';
import { choose } from '../../model/reservation/calendar.js';
import { endReservation, lacking } from '../../model/reservation/decide.js';
import type {
  FindCandidatesReply,
  OperateMachineReply,
  OperateMachineRequest,
} from '../../model/reservation/messages.js';
import {
  isActive,
  openReservations,
  withNote,
  withReservation,
  withAssignment,
  type Reservation,
  type Assignment,
  type StepName,
  isoOf,
  type ReservationNotification,
} from '../../model/reservation/state.js';
import { askUntil, intentOf, nextStep } from '../../model/reservation/steps.js';
import { eventOf, withNotification } from '../../model/reservation/notification.js';
import { startDeliveries } from '../delivery.js';
import { noteChange } from '../entity.js';
import { schedule } from '../schedule.js';
import { takeMachines, type Lacking } from './candidates.js';
import { setState, type ReservationsMemory } from './memory.js';
import { newAssignment } from './reserve.js';

/** Machines that are asked for something at once: far fewer than activities have room on one worker. */
const inFlight = 40;

/** Begins all that there is to do and not under way yet. */
export function beginWork(memory: ReservationsMemory): void {
  if (memory.draining) return;
  const now = Date.now();
  const [first] = memory.state.notifications;
  if (first !== undefined) startWork(memory, 'notifications', () => sendNotification(memory, first));
  for (const { id } of openReservations(memory.state)) {
    const reservation = memory.state.reservations[id];
    if (reservation === undefined) continue;
    if (lacking(reservation) > 0) startWork(memory, `${id} machines`, () => findOthers(memory, id));
    for (const assignment of reservation.assignments) beginStep(memory, reservation, assignment, now);
  }
}

function beginStep(
  memory: ReservationsMemory,
  { id }: Reservation,
  assignment: Assignment,
  now: number,
): void {
  const key = `${id} ${assignment.machine}`;
  if (memory.work[key] !== undefined) stopUnneeded(memory, id, assignment);
  if (memory.work[key] !== undefined || Object.keys(memory.work).length >= inFlight) return;
  const reservation = memory.state.reservations[id];
  if (reservation === undefined) return;
  const step = nextStep(memory.state, reservation, assignment, now);
  if (step === undefined) return;
  // Recorded before the request is sent: the same request is repeated, in later runs too, until it is
  // answered.
  setState(
    memory,
    withReservation(memory.state, withAssignment(reservation, { ...assignment, asking: step })),
  );
  startWork(memory, key, () => requestStep(memory, id, assignment, step));
}

/** A load whose reservation is over ends before it writes; a write that has begun is left to its end. */
function stopUnneeded(
  memory: ReservationsMemory,
  id: string,
  { machine, uid, asked, asking }: Assignment,
): void {
  const reservation = memory.state.reservations[id];
  const request = requestKey(memory, id, asked, 'load');
  if (reservation?.over === undefined || asking !== 'load' || memory.stopped[request] === true) return;
  memory.stopped[request] = true;
  const until = isoOf(askUntil(reservation, 'load', Date.now()));
  startWork(memory, `${id} ${machine} stop`, async () => {
    await schedule(
      'STOP_LOAD',
      { machine, uid, key: request, until },
      { summary: `STOP_LOAD ${machine}` },
    ).catch((error: unknown) => {
      if (!(error instanceof ActivityFailure)) throw error;
    });
  });
}

function requestKey({ state }: ReservationsMemory, id: string, asked: number, step: StepName): string {
  return `${state.uid}/${id}/${asked}/${step}`;
}

function startWork(memory: ReservationsMemory, key: string, work: () => Promise<void>): void {
  if (memory.work[key] !== undefined) return;
  const scope = new CancellationScope({ cancellable: true });
  memory.work[key] = scope;
  scope
    .run(work)
    .catch((error: unknown) => {
      if (!isCancellation(error)) throw error;
    })
    .finally(() => {
      delete memory.work[key];
      noteChange(memory);
    });
}

async function requestStep(
  memory: ReservationsMemory,
  id: string,
  { machine, uid, asked }: Assignment,
  step: StepName,
): Promise<void> {
  const reservation = memory.state.reservations[id];
  const assignment = reservation?.assignments.find((one) => one.machine === machine);
  if (reservation === undefined || assignment === undefined) return;
  const { to } = reservation;
  const reply = await ask({
    machine,
    uid,
    intent: intentOf(memory.state, reservation, assignment, step),
    holder: id,
    key: requestKey(memory, id, asked, step),
    until: isoOf(askUntil(reservation, step, Date.now())),
  });
  memory.work[`${id} ${machine} stop`]?.cancel();
  const current = memory.state.reservations[id];
  const now = current?.assignments.find((one) => one.machine === machine);
  if (current !== undefined && now !== undefined)
    setState(memory, afterStep(memory.state, current, now, { step, reply, to, now: Date.now() }));
}

async function ask(request: OperateMachineRequest): Promise<OperateMachineReply> {
  try {
    return await schedule('OPERATE_MACHINE', request, {
      summary: `${request.intent.kind} ${request.machine}`,
    });
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
    return { is: 'not done', answer: 'unknown', why: error.cause?.message ?? error.message };
  }
}

/** Pause before machines that did not answer are asked again, in ms. */
const askAgainMs = 30_000;

/** Machines that do not answer now may do later: the reservation stays, and the next search follows. */
async function waitForMachines(memory: ReservationsMemory, id: string, why: string): Promise<void> {
  const reservation = memory.state.reservations[id];
  if (reservation === undefined || reservation.over !== undefined) return;
  const text = `waits for a machine: ${why}`;
  if (reservation.notes.at(-1)?.text.startsWith('waits for a machine: ') !== true)
    setState(memory, withReservation(memory.state, withNote(reservation, Date.now(), text)));
  await sleep(askAgainMs);
}

function namesHad({ tried, assignments }: Reservation): readonly string[] {
  return [...tried, ...assignments.map(({ machine }) => machine)];
}

/** Takes other machines in the place of those that were given up; where there are too few, none is kept. */
async function findOthers(memory: ReservationsMemory, id: string): Promise<void> {
  const before = memory.state.reservations[id];
  if (before === undefined) return;
  const { wanted, image } = before;
  const request = { wanted, image, than: namesHad(before) };
  const end = await takeMachines(request, (found) => takeOthers(memory, id, found)).catch(
    (error: unknown) => {
      if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
      return { silent: error.cause?.message ?? error.message };
    },
  );
  if ('silent' in end) return waitForMachines(memory, id, end.silent);
  const reservation = memory.state.reservations[id];
  if (!('lacking' in end) || reservation === undefined || reservation.over !== undefined) return;
  setState(
    memory,
    endReservation(memory.state, reservation, { at: Date.now(), how: 'failed', why: end.lacking }),
  );
}

function takeOthers(
  memory: ReservationsMemory,
  id: string,
  { computers, others }: FindCandidatesReply,
): object | Lacking {
  const reservation = memory.state.reservations[id];
  if (reservation === undefined || reservation.over !== undefined) return {};
  const now = Date.now();
  const had = new Set(namesHad(reservation));
  const choice = choose(memory.state, {
    count: lacking(reservation),
    computers: computers.filter(({ name }) => !had.has(name)),
    from: now,
    to: reservation.to,
  });
  const gaveUp = reservation.assignments
    .filter((assignment) => !isActive(assignment))
    .flatMap(({ machine, givenUp }) => (givenUp === undefined ? [] : [`${machine}: ${givenUp}`]))
    .join('; ');
  if ('lacking' in choice) {
    const why = [`a machine is unavailable, and there is no substitute: ${gaveUp}`, ...others.slice(0, 3)];
    return { lacking: why.join('; ') };
  }
  const text = `${choice.chosen.map(({ name }) => name).join(', ')} replaced unavailable machines: ${gaveUp}`;
  const moved = withNote(
    { ...reservation, assignments: [...reservation.assignments, ...choice.chosen.map(newAssignment)] },
    now,
    text,
  );
  setState(memory, withNotification(withReservation(memory.state, moved), 'moved', moved, text, now));
  return {};
}

/**
 * Sends notifications in order. A notification that cannot be delivered is noted with its reservation and not
 * repeated.
 */
async function sendNotification(
  memory: ReservationsMemory,
  notification: ReservationNotification,
): Promise<void> {
  const { webhooks = [] } = memory.state;
  if (webhooks.length > 0) await startDeliveries(webhooks, eventOf(notification));
  try {
    await schedule('NOTIFY', notification, {
      summary: `NOTIFY ${notification.event} of ${notification.reservation.id}`,
    });
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
    const reservation = memory.state.reservations[notification.reservation.id];
    if (reservation !== undefined)
      setState(
        memory,
        withReservation(
          memory.state,
          withNote(reservation, Date.now(), error.cause?.message ?? error.message),
        ),
      );
  }
  setState(memory, {
    ...memory.state,
    notifications: memory.state.notifications.filter(({ id }) => id !== notification.id),
  });
}
