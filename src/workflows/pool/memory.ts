import type { CancellationScope } from '@temporalio/workflow';
import type { PoolState } from '../../model/pool/state.js';
import type { CommandBudget, Places } from '../places.js';

/** Holds a pool's state while one run of its workflow lives. */
export interface PoolMemory {
  readonly pool: PoolState;
  /** Something changed that admission must see. */
  dirty: boolean;
  /** Work on nodes that is under way, by node. */
  readonly work: Record<string, Work>;
  /** For calls that change something, and for looks: those wait most of their time. */
  places: Places;
  looks: Places;
  readonly budget: CommandBudget;
  /** Nothing new is begun: this run ends, and the next goes on. */
  draining: boolean;
  alarm?: Alarm;
  /** Before that it is not tried to go on in a new run. */
  carryAt?: number;
  /** Somebody wants a new run. */
  renew?: true;
  /** Updates of this run: the server takes only so many. */
  updates: number;
  /** Provider pools whose nodes are being looked at, and accounts whose quota is being read. */
  readonly looking: Record<string, true>;
}

export interface Work {
  readonly kind: 'build' | 'clean' | 'delete';
  readonly scope: CancellationScope;
}

export interface Alarm {
  readonly at: number;
  readonly scope: CancellationScope;
}

export function noteChange(memory: PoolMemory): void {
  memory.dirty = true;
}
