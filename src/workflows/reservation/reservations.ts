import {
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
  isCancellation,
  setCurrentDetails,
  sleep,
  upsertMemo,
  uuid4,
  workflowInfo,
} from '@temporalio/workflow';
import { packReservations } from '../../model/reservation/carry.js';
import { nextDue, turnClock } from '../../model/reservation/clock.js';
import {
  newReservations,
  openReservations,
  stateOf,
  type ReservationsState,
} from '../../model/reservation/reservation.js';
import { isoOf } from '../../model/reservation/tidings.js';
import { handleMessages } from './handlers.js';
import type { ReservationsMemory } from './memory.js';
import { beginWork } from './work.js';

export type ReservationsInput = { readonly uid?: string } | { readonly carried: ReservationsState };

/** The server takes so many messages in one run. */
const mostUpdates = 1_500;

/**
 * The calendar of reservations, and what is done about them. One for an installation: what it takes in, it
 * takes in one after the other.
 */
export async function reservations(input?: ReservationsInput): Promise<string> {
  const cancelled = CancellationScope.current().cancelRequested;
  // Ending the workflow would leave machines held, so cancelling it from outside only has it go on in a new
  // run.
  return CancellationScope.nonCancellable(() => live(input, cancelled));
}

async function live(input: ReservationsInput | undefined, cancelled: Promise<never>): Promise<never> {
  const memory: ReservationsMemory = {
    state: openState(input),
    dirty: true,
    work: {},
    updates: 0,
    draining: false,
  };
  upsertMemo({ heddleUid: memory.state.uid });
  handleMessages(memory);
  cancelled.catch(() => {
    memory.renew = true;
  });
  for (;;) {
    memory.dirty = false;
    settle(memory);
    beginWork(memory);
    setCurrentDetails(detailsOf(memory.state));
    setAlarm(memory, nextDue(memory.state, Date.now()));
    // What was begun may have changed something already.
    await condition(() => memory.dirty || isWorn(memory));
    if (isWorn(memory)) {
      await drain(memory);
      return continueAsNew<typeof reservations>({ carried: packReservations(memory.state) });
    }
  }
}

/** One turn may be what another waits for. */
function settle(memory: ReservationsMemory): void {
  for (let before: ReservationsState | undefined; before !== memory.state;) {
    before = memory.state;
    memory.state = turnClock(memory.state, Date.now());
  }
}

function openState(input: ReservationsInput | undefined): ReservationsState {
  return input !== undefined && 'carried' in input ? input.carried : newReservations(input?.uid ?? uuid4());
}

/** One timer at a time, and a later one is left to the earlier: each costs events. */
function setAlarm(memory: ReservationsMemory, at: number | undefined): void {
  if (at === undefined || (memory.alarm !== undefined && memory.alarm.at <= at)) return;
  memory.alarm?.scope.cancel();
  const scope = new CancellationScope({ cancellable: true });
  const alarm = { at, scope };
  memory.alarm = alarm;
  scope
    .run(() => sleep(Math.max(1, at - Date.now())))
    .then(
      () => {
        if (memory.alarm === alarm) delete memory.alarm;
        memory.dirty = true;
      },
      (error: unknown) => {
        if (!isCancellation(error)) throw error;
      },
    );
}

function isWorn({ updates, renew }: ReservationsMemory): boolean {
  return renew === true || updates > mostUpdates || workflowInfo().continueAsNewSuggested;
}

/** What is under way only waits for machines: the next run asks them the same, and they know it. */
async function drain(memory: ReservationsMemory): Promise<void> {
  memory.draining = true;
  for (const scope of Object.values(memory.work)) scope.cancel();
  memory.alarm?.scope.cancel();
  await condition(() => Object.keys(memory.work).length === 0 && allHandlersFinished());
}

function detailsOf(state: ReservationsState): string {
  const open = openReservations(state);
  return [
    `${open.length} open reservations`,
    '',
    ...open.slice(0, 20).map((reservation) => {
      const { id, user, image, from, to, seats } = reservation;
      return `- ${id}: ${stateOf(reservation)}, ${image.name}@${image.revision} for ${user}, ${isoOf(from)} to ${isoOf(to)}, ${seats.map(({ machine }) => machine).join(', ')}`;
    }),
  ].join('\n');
}
