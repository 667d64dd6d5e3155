import { ActivityFailure, ApplicationFailure } from '@temporalio/workflow';
import { choose } from '../../model/reservation/calendar.js';
import { refuseLength, refuseRequest } from '../../model/reservation/check.js';
import type { ReserveReply, ReserveRequest } from '../../model/reservation/contract.js';
import type {
  Candidate,
  FindCandidatesReply,
  FindCandidatesRequest,
} from '../../model/reservation/messages.js';
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
  let found = await find({ wanted, image });
  let tried = tryChoice(memory, request, found);
  // A machine that did not answer may be the one that is free.
  if ('lacking' in tried.choice && found.incomplete === true) {
    found = await find({ wanted, image, all: true });
    tried = tryChoice(memory, request, found);
  }
  const { choice, now, from } = tried;
  if ('lacking' in choice) throw refused(choice.lacking);
  const { settings, webhooks } = found;
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

/** @throws ApplicationFailure Refused if the request does not fit, whatever is free. */
function tryChoice(
  { state }: ReservationsMemory,
  request: ReserveRequest,
  { computers, others, settings }: FindCandidatesReply,
): { readonly choice: ReturnType<typeof choose>; readonly now: number; readonly from: number } {
  const { wanted, image, to } = request;
  const now = Date.now();
  const from = request.from ?? now;
  refuse(refuseRequest(state, request, now) ?? refuseLength({ from, to }, settings));
  if (computers.length < wanted.count) {
    throw refused(
      `${computers.length} machines fit, but ${wanted.count} ${wanted.count === 1 ? 'is' : 'are'} requested with image ${formatImageRef(image)}${others.length === 0 ? '' : `: ${others.join('; ')}`}`,
    );
  }
  return { choice: choose(state, { count: wanted.count, computers, from, to }), now, from };
}

export function newAssignment({ name, uid, defaultImage }: Candidate): Assignment {
  return { machine: name, uid, defaultImage, stage: 'booked', asked: 0, tries: 0 };
}

async function find(request: FindCandidatesRequest): Promise<FindCandidatesReply> {
  try {
    return await schedule('FIND_CANDIDATES', request);
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
