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
import { schedule } from '../schedule.js';
import { setState, type ReservationsMemory } from './memory.js';

/**
 * Takes a reservation into the calendar, with all its machines or not at all. Looking for machines takes
 * time, and others are taken in meanwhile; choosing them and writing them down is one step.
 */
export async function reserve(memory: ReservationsMemory, request: ReserveRequest): Promise<ReserveReply> {
  const { wanted, image, user, by } = request;
  const { computers, others, settings, webhooks } = await find(request);
  const now = Date.now();
  const from = request.from ?? now;
  refuse(refuseRequest(memory.state, request, now) ?? refuseLength({ from, to: request.to }, settings));
  if (computers.length < wanted.count) {
    throw refused(
      `${computers.length} machines fit, but ${wanted.count} ${wanted.count === 1 ? 'is' : 'are'} requested with image ${formatImageRef(image)}${others.length === 0 ? '' : `: ${others.join('; ')}`}`,
    );
  }
  const choice = choose(memory.state, { count: wanted.count, computers, from, to: request.to });
  if ('lacking' in choice) throw refused(choice.lacking);
  const id = `r${memory.state.numbers + 1}`;
  const assignments = choice.chosen.map(newAssignment);
  const { webhooks: _before, ...state } = memory.state;
  const reservation: Reservation = {
    id,
    user,
    image,
    from,
    to: request.to,
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

async function find({ wanted, image }: ReserveRequest): Promise<FindCandidatesReply> {
  try {
    return await schedule('FIND_CANDIDATES', { wanted, image });
  } catch (error) {
    // Any other error of a handler would fail the workflow task again and again.
    if (error instanceof ActivityFailure)
      throw refused(`the machines could not be listed: ${error.cause?.message ?? error.message}`);
    throw error;
  }
}

function refused(why: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(why, 'Refused');
}
