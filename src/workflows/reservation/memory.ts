import type { CancellationScope } from '@temporalio/workflow';
import type { ReservationsState } from '../../model/reservation/reservation.js';

/** Holds the calendar while one run of its workflow lives. The state itself is never mutated. */
export interface ReservationsMemory {
  state: ReservationsState;
  /** Something changed since the main loop looked. */
  dirty: boolean;
  /** What is under way, by what it is about: one at a time for a machine of a reservation. */
  readonly work: Record<string, CancellationScope>;
  /** Messages of this run; the server allows so many. */
  updates: number;
  /** Nothing more is begun in this run. */
  draining: boolean;
  /** A run can be cancelled from outside once, so a new one is begun. */
  renew?: true;
  alarm?: { readonly at: number; readonly scope: CancellationScope };
}

export function take(memory: ReservationsMemory, state: ReservationsState): void {
  if (memory.state === state) return;
  memory.state = state;
  memory.dirty = true;
}
