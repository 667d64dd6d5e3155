import type { CancellationScope } from '@temporalio/workflow';
import type { PoolState } from '../../model/pool/state.js';
import type { CommandBudget, Places } from '../cluster/places.js';
import type { Told } from './metrics.js';
import type { Carrier } from './together.js';

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
  /** Of tasks that go together, in runs that began before there were batches. */
  readonly carrier?: Carrier;
  /** Tasks of several nodes are carried in batches, and the run is measured by its replay. */
  readonly batches: boolean;
  /** Nodes whose task failed beside others, and in how many ms it is tried again, by itself. */
  readonly alone: Record<string, number>;
  /** About how many ms of CPU a worker needs to replay what this run did. */
  replayMs: number;
  /** The first configuration was refused, so there is no pool. */
  refused?: boolean;
  /** Nothing new is begun: this run ends, and the next goes on. */
  draining: boolean;
  alarm?: Alarm;
  /** Before that it is not tried to go on in a new run. */
  carryAt?: number;
  /** Somebody wants a new run. */
  renew?: true;
  /** Updates of this run: the server takes only so many. */
  updates: number;
  /** Of the metrics. */
  readonly told: Told;
  /** Provider pools whose nodes are being looked at, and accounts whose quota is being read. */
  readonly looking: Record<string, true>;
  /** Images of the library that were asked to tell of themselves, by this run. */
  readonly watched: Record<string, Watched>;
}

export interface Work {
  readonly kind: 'build' | 'clean' | 'delete';
  readonly cancel: () => void;
  /** With other nodes: it is over soon. */
  readonly together?: true;
}

export interface Watched {
  readonly askedAt: number;
  /** There was none, so it is asked again. */
  readonly missing?: true;
}

export interface Alarm {
  readonly at: number;
  readonly scope: CancellationScope;
}

export function noteChange(memory: PoolMemory): void {
  memory.dirty = true;
}
