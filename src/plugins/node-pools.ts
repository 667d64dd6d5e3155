import type { AllocatedNode } from '../model/pool/allocated.js';
import type { NodeDemand } from '../model/pool/request.js';
import type { RequestView } from '../model/pool/view.js';

/**
 * The pools of this installation, for a provider whose machines are their nodes. Every call may be repeated.
 */
export interface NodePools {
  /**
   * Asks for a node; the same id again is the same request. What is ready comes with the answer.
   * @throws PluginError Invalid when there is no such pool, or it refuses the demand.
   */
  ask(pool: string, demand: NodeDemand): Promise<RequestView>;
  /** Undefined where the pool does not know the request, or there is no such pool. */
  look(pool: string, id: string): Promise<RequestView | undefined>;
  /** Gives the node back, or withdraws the request; nothing where there is none. */
  end(pool: string, id: string): Promise<void>;
  /** All nodes that clusters drew from the pool, or wait for. */
  allocated(pool: string): Promise<readonly AllocatedNode[]>;
  /** Pools that are there, as the server's index has them: one that was made a moment ago may be missing. */
  names(): Promise<readonly string[]>;
}
