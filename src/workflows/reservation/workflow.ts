import { bounds } from '../../model/bounds.js';
import { uuid4 } from '@temporalio/workflow';
import { packReservations } from '../../model/reservation/carry.js';
import { nextDue, applyTime } from '../../model/reservation/decide.js';
import {
  newReservations,
  openReservations,
  stateOf,
  type ReservationsState,
  isoOf,
} from '../../model/reservation/state.js';
import { newMemory, runEntity } from '../entity.js';
import { messagesOf } from './handlers.js';
import type { ReservationsMemory } from './memory.js';
import { beginWork } from './work.js';
import { condition } from '../inbox.js';

export type ReservationsInput = { readonly uid?: string } | { readonly carried: ReservationsState };

/**
 * The calendar of reservations, and the work that they need. There is one per installation, so reservations
 * are accepted one after the other.
 */
export async function reservations(input?: ReservationsInput): Promise<string> {
  const memory: ReservationsMemory = { ...newMemory(), state: openState(input), work: {}, stopped: {} };
  return runEntity(memory, {
    uid: memory.state.uid,
    messages: messagesOf(memory),
    step: () => {
      applyDue(memory);
      beginWork(memory);
      return { wakeAt: nextDue(memory.state, Date.now()) };
    },
    // Work in flight only waits for machines: the next run repeats the requests, which are idempotent.
    drain: async () => {
      for (const scope of Object.values(memory.work)) scope.cancel();
      await condition(() => Object.keys(memory.work).length === 0);
    },
    carry: () => packReservations(memory.state),
    bounds: bounds.reservations,
    details: () => detailsOf(memory.state),
  });
}

/** A change at one reservation may be what another waits for. */
function applyDue(memory: ReservationsMemory): void {
  for (let before: ReservationsState | undefined; before !== memory.state;) {
    before = memory.state;
    memory.state = applyTime(memory.state, Date.now());
  }
}

function openState(input: ReservationsInput | undefined): ReservationsState {
  return input !== undefined && 'carried' in input ? input.carried : newReservations(input?.uid ?? uuid4());
}

function detailsOf(state: ReservationsState): string {
  const open = openReservations(state);
  return [
    `${open.length} open reservations`,
    '',
    ...open.slice(0, 20).map((reservation) => {
      const { id, user, image, from, to, assignments } = reservation;
      return `- ${id}: ${stateOf(reservation)}, ${image.name}@${image.revision} for ${user}, ${isoOf(from)} to ${isoOf(to)}, ${assignments.map(({ machine }) => machine).join(', ')}`;
    }),
  ].join('\n');
}
