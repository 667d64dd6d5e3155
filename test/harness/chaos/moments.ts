import type { ChaosWorld } from './chaos-world.js';
import { lookUp } from './look-up.js';

/** A point of the work that a kill can meet. */
/** A point of the work that a kill can meet. */
export interface Moment {
  readonly name: string;
  /**
   * Waits until the work is there, and holds it where it can; undefined when it does not come before the
   * signal. `pid` is the worker that is there, where it is known.
   */
  meet(world: ChaosWorld, signal: AbortSignal): Promise<Met | undefined>;
}

export interface Met {
  readonly pid?: number;
  /** Lets go of what was held. */
  release(): Promise<void>;
}

const activities = [
  'PLAN',
  'PROBE_NODES',
  'CREATE',
  'CONFIRM',
  'BOOTSTRAP',
  'INSTALL',
  'CONFIGURE',
  'INITIALIZE',
  'START',
  'STOP',
  'REMOVE',
  'DELETE',
  'EXEC',
] as const;
const scripts = ['INSTALL', 'CONFIGURE', 'INITIALIZE', 'START', 'STOP', 'REMOVE', 'EXEC'] as const;
const calls = ['create', 'describe', 'list', 'delete'] as const;

/**
 * At the edges of every activity, in the middle of every kind of script, and between a provider's deed and
 * its answer.
 */
export const moments: readonly Moment[] = [
  ...activities.flatMap((activity) => [atEdge('before', activity), atEdge('after', activity)]),
  ...scripts.map(inScript),
  ...calls.map(afterAccepted),
];

function atEdge(edge: 'before' | 'after', activity: string): Moment {
  return {
    name: `${edge} ${activity}`,
    async meet({ points }, signal) {
      const point = await points.arm(edge, activity);
      const pid = await lookUp(() => point.met(), signal);
      if (pid !== undefined) return { pid, release: () => point.release() };
      await point.release();
      return undefined;
    },
  };
}

function inScript(action: string): Moment {
  return {
    name: `in the script of ${action}`,
    async meet({ ledger }, signal) {
      const known = (await ledger.executions()).length;
      const found = await lookUp(
        async () =>
          (await ledger.executions())
            .slice(known)
            .find((execution) => execution.action === action && !execution.ended),
        signal,
      );
      return found === undefined ? undefined : { release: () => Promise.resolve() };
    },
  };
}

/** The machine service did it, and nobody has heard of it. */
function afterAccepted(operation: string): Moment {
  return {
    name: `${operation} accepted`,
    async meet({ stack: { service } }, signal) {
      const fault = await service.arm({ fault: 'hold-answer', operation });
      const held = await lookUp(async () => ((await service.held(fault)) > 0 ? true : undefined), signal);
      const release = (): Promise<void> => service.release(fault);
      if (held !== undefined) return { release };
      await release();
      return undefined;
    },
  };
}
