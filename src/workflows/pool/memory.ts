import type { PoolState } from '../../model/pool/state.js';
import type { EntityMemory } from '../entity.js';
import type { Semaphore } from '../permits.js';
import type { Published } from './metrics.js';

/** Holds a pool's state during one run of its workflow. */
export interface PoolMemory extends EntityMemory {
  readonly pool: PoolState;
  /** Work on nodes that is under way, by node. */
  readonly work: Record<string, Work>;
  /** For calls that change something. */
  permits: Semaphore;
  /** For deletions, by provider pool. */
  readonly removals: Record<string, Semaphore>;
  checks: Semaphore;
  /** Nodes whose task failed beside others, and in how many ms it is tried again, by itself. */
  readonly alone: Record<string, number>;
  /** About how many ms of CPU a worker needs to replay the work on nodes that this run began. */
  replayMs: number;
  /** Nodes and requests at the start of this run, and nodes on which it began work. */
  entries: number;
  /** The first configuration was refused, so there is no pool. */
  refused?: boolean;
  /** Of the metrics. */
  readonly published: Published;
  /** Provider pools whose nodes are being checked, and accounts whose quota is being read. */
  readonly checking: Record<string, true>;
  /** Library images that this run has subscribed to. */
  readonly watched: Record<string, Watched>;
}

export interface Work {
  readonly kind: 'build' | 'clean' | 'delete';
  readonly cancel: () => void;
  /** With other nodes: it is over soon. */
  readonly inBatch?: true;
}

interface Watched {
  readonly askedAt: number;
  /** There was none, so it is asked again. */
  readonly missing?: true;
}
