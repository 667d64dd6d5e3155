import { setTimeout as pause } from 'node:timers/promises';
import { activityInfo, Context } from '@temporalio/activity';
import type { ActivityExecuteInput, ActivityInterceptorsFactory } from '@temporalio/worker';
import { poolWorkflowId } from '../../../src/model/names.js';

/** A task as these tables name it: `db-1 db START`, `db-1 - CREATE`, `PLAN`. */
export type TaskName = string;

/** Something that happens at a task, from outside of it. */
export interface Act {
  /** Before the task does anything; throwing fails the attempt. */
  readonly before?: (context: Context) => Promise<void>;
  /** After it did everything; throwing loses its answer. */
  readonly after?: () => Promise<void>;
}

export interface Point {
  readonly cluster: string;
  /** `*` for any task. */
  readonly task: TaskName;
  /** How many tasks that fit pass by first; none unless given. */
  readonly skip?: number;
  readonly act: Act;
}

/** Named points in the tasks of clusters. Each is met once, then it is gone. */
export interface Points {
  arm(point: Point): void;
  /** Whether it was met. */
  isMet(cluster: string): boolean;
  disarm(cluster: string): void;
  /** Attempts of a cluster's tasks, in the order they began. */
  seen(cluster: string): readonly TaskName[];
  /**
   * Resolves when no task of the cluster has been under way for a moment; what waits longer than that is
   * looked for again.
   */
  silence(cluster: string): Promise<void>;
  readonly interceptors: readonly ActivityInterceptorsFactory[];
}

export function openPoints(): Points {
  const armed: (Point & { left: number })[] = [];
  const met = new Set<string>();
  const active = new Map<string, { open: number; at: number }>();
  const note = (cluster: string, change: number): void => {
    const { open } = active.get(cluster) ?? { open: 0 };
    active.set(cluster, { open: open + change, at: Date.now() });
  };
  const seen: { readonly cluster: string; readonly task: TaskName }[] = [];
  const take = (cluster: string, task: TaskName): Act | undefined => {
    const found = armed.find(
      (point) => point.cluster === cluster && (point.task === task || point.task === '*'),
    );
    if (found === undefined) return undefined;
    found.left -= 1;
    if (found.left >= 0) return undefined;
    met.add(cluster);
    armed.splice(armed.indexOf(found), 1);
    return found.act;
  };
  return {
    arm: (point) => {
      met.delete(point.cluster);
      armed.push({ ...point, left: point.skip ?? 0 });
    },
    isMet: (cluster) => met.has(cluster),
    disarm: (cluster) => {
      for (let index = armed.length - 1; index >= 0; index -= 1)
        if (armed[index]?.cluster === cluster) armed.splice(index, 1);
    },
    seen: (cluster) => seen.filter((attempt) => attempt.cluster === cluster).map(({ task }) => task),
    async silence(cluster) {
      note(cluster, 0);
      for (;;) {
        const { open, at } = active.get(cluster) ?? { open: 0, at: 0 };
        if (open === 0 && Date.now() - at > silentMs) return;
        await pause(silentMs / 4);
      }
    },
    interceptors: [
      () => ({
        inbound: {
          async execute(input, next) {
            const { cluster, task } = readTask(input);
            seen.push({ cluster, task });
            const act = take(cluster, task);
            note(cluster, 1);
            try {
              await act?.before?.(Context.current());
              const result: unknown = await next(input);
              await act?.after?.();
              return result;
            } finally {
              note(cluster, -1);
            }
          },
        },
      }),
    ],
  };
}

/** Longer than a workflow task takes on a busy machine, mostly. */
const silentMs = 200;

interface AnyRequest {
  readonly clusterName?: string;
  readonly clusterId?: string;
  readonly poolName?: string;
  readonly nodeId?: string;
  readonly service?: { readonly name: string };
}

function readTask({ args: [first] }: ActivityExecuteInput): {
  readonly cluster: string;
  readonly task: TaskName;
} {
  const { clusterName, clusterId, poolName, nodeId, service } = first as AnyRequest;
  const action = activityInfo().activityType;
  return {
    cluster: clusterId ?? clusterName ?? (poolName === undefined ? '' : poolWorkflowId(poolName)),
    task: nodeId === undefined ? action : `${nodeId} ${service?.name ?? '-'} ${action}`,
  };
}
