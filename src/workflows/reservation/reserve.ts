import { ActivityFailure, ApplicationFailure } from '@temporalio/workflow';
import { choose } from '../../model/reservation/calendar.js';
import { refuseLength, refuseRequest } from '../../model/reservation/check.js';
import type { ReserveReply, ReserveRequest } from '../../model/reservation/contract.js';
import type { Candidate, FindCandidatesReply } from '../../model/reservation/messages.js';
import { formatImageRef } from '../../model/machine/image.js';
import {
  withNote,
  withReservation,
  type Reservation,
  type Assignment,
} from '../../model/reservation/state.js';
import { viewOfReservation } from '../../model/reservation/view.js';
import { refuse } from '../entity.js';
import { takeMachines, type Lacking } from './candidates.js';
import { setState, type ReservationsMemory } from './memory.js';

/**
 * Takes a reservation into the calendar, with all its machines or not at all.
 * @throws ApplicationFailure Refused
 */
export async function reserve(memory: ReservationsMemory, request: ReserveRequest): Promise<ReserveReply> {
  const { wanted, image } = request;
  const booked = await takeMachines({ wanted, image }, (found) => book(memory, request, found)).catch(
    (error: unknown) => {
      // Any other error of a handler would fail the workflow task again and again.
      if (!(error instanceof ActivityFailure)) throw error;
      return { lacking: `the machines could not be listed: ${error.cause?.message ?? error.message}` };
    },
  );
  if ('lacking' in booked) throw refused(booked.lacking);
  return booked;
}

function book(
  memory: ReservationsMemory,
  request: ReserveRequest,
  { computers, others, settings, webhooks }: FindCandidatesReply,
): ReserveReply | Lacking {
  const { wanted, image, user, by, to } = request;
  const now = Date.now();
  const from = request.from ?? now;
  refuse(refuseRequest(memory.state, request, now) ?? refuseLength({ from, to }, settings));
  if (computers.length < wanted.count) {
    const asked = `${wanted.count} ${wanted.count === 1 ? 'is' : 'are'} requested with image ${formatImageRef(image)}`;
    const why = others.length === 0 ? '' : `: ${others.join('; ')}`;
    return { lacking: `${computers.length} machines fit, but ${asked}${why}` };
  }
  const choice = choose(memory.state, { count: wanted.count, computers, from, to });
  if ('lacking' in choice) return choice;
  const id = `r${memory.state.numbers + 1}`;
  const assignments = choice.chosen.map(newAssignment);
  const { webhooks: _before, ...state } = memory.state;
  const reservation: Reservation = {
    id,
    user,
    image,
    from,
    to,
    by,
    askedAt: now,
    wanted,
    settings,
    assignments,
    tried: [],
    notes: [],
  };
  setState(
    memory,
    withReservation(
      { ...state, numbers: state.numbers + 1, ...(webhooks === undefined ? {} : { webhooks }) },
      withNote(reservation, now, `booked by ${by}: ${assignments.map(({ machine }) => machine).join(', ')}`),
    ),
  );
  return { reservation: viewOfReservation(reservation) };
}

export function newAssignment({ name, uid, defaultImage }: Candidate): Assignment {
  return { machine: name, uid, defaultImage, stage: 'booked', asked: 0, tries: 0 };
}

function refused(why: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(why, 'Refused');
}
