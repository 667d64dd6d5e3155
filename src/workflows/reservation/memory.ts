import type { CancellationScope } from '@temporalio/workflow';
import type { ReservationsState } from '../../model/reservation/state.js';
import { noteChange, type EntityMemory } from '../entity.js';

/** Holds the calendar during one run of its workflow. The state itself is never mutated. */
export interface ReservationsMemory extends EntityMemory {
  state: ReservationsState;
  /** Work in flight by subject; one at a time per machine of a reservation. */
  readonly work: Record<string, CancellationScope>;
  /** Loads that this run has ended or left to their end, by request. */
  readonly stopped: Record<string, true>;
}

export function setState(memory: ReservationsMemory, state: ReservationsState): void {
  if (memory.state === state) return;
  memory.state = state;
  noteChange(memory);
}
