import { z } from 'zod';
import { actions } from '../../model/action.js';
import { operationKinds } from '../../model/plan/intent/intent.js';
import type { DeepReadonly } from '../../model/json.js';
import { machineActions } from '../../model/machine/actions.js';
import type { Intent } from '../../model/plan/intent/intent.js';
import { count, moment, opaque, texts, type View } from './exact.js';

const failureMembers = {
  action: z.enum([...actions, ...machineActions]),
  service: z.string().optional(),
  kind: z.string().describe('A kind of plugin error, Timeout, Internal, PluginChanged or MachineLost.'),
  message: z.string(),
  lost: z
    .object({ seen: z.enum(['gone', 'stopped']), why: z.string() })
    .optional()
    .describe('For MachineLost.'),
  at: moment,
};

const taskMembers = {
  ...failureMembers,
  taskId: z.string(),
  exitCode: count.optional(),
  /** At most 2 KiB, as stderr. */
  stdout: z.string().optional().describe('The last part.'),
  stderr: z.string().optional().describe('The last part.'),
  log: z.string().optional().describe('Name of the log of the task.'),
};

export const failureSchema = z.object(taskMembers).meta({ id: 'failure' });

/** A failed task as state, status and logs show it. */
export type FailureRecord = View<typeof failureSchema>;

const operationFailureSchema = z.object({
  nodeId: z.string(),
  ...failureMembers,
  tolerated: z.literal(true).optional().describe('The operation continued without the node.'),
});

export const operationSchema = z
  .object({
    id: z.string().describe('Counts from 1 in each cluster.'),
    /** A request that is delivered again after a reset keeps it. */
    uid: z.string().describe('Part of the ids of its tasks.'),
    kind: z.enum(operationKinds),
    intent: opaque<Intent>('The request as Heddle stores it; may change in any release.'),
    /** At most 200 characters. */
    what: z.string().describe('The request, as text.'),
    state: z
      .enum(['queued', 'running', 'held', 'done', 'failed', 'cancelled', 'rejected', 'superseded'])
      .describe('held: waits for a decision of a user. rejected: it could not be planned; nothing was done.'),
    by: z.string().describe('Who requested it.'),
    requestedAt: moment,
    startedAt: moment.optional(),
    endedAt: moment.optional(),
    reason: z
      .string()
      .optional()
      .describe('Why it is held, failed, cancelled, rejected or superseded, as text.'),
    /** While it is paused, no task starts; running tasks continue. */
    paused: z.object({ by: z.string(), at: moment }).optional(),
    /** Planned and completed tasks; both increase when the operation is planned again. */
    tasks: z.object({ total: count, done: count, failed: count }),
    failures: z.array(operationFailureSchema).optional().describe('The first ones.'),
    missing: z
      .object({
        count,
        nodes: texts.describe('The first ones.'),
        groups: z.record(z.string(), count).describe('Number of nodes by group.'),
        services: z.record(z.string(), count).describe('Number of nodes by the service that failed.'),
      })
      .optional()
      .describe('Nodes without which it continued.'),
    repairs: count.optional().describe('Number of times that it replaced lost machines.'),
    /** `<nodeId> <provider> <providerid>`. */
    abandoned: texts.optional().describe('Machines that were abandoned without deletion.'),
    left: count.optional().describe('Tasks of the spec that a limited apply skipped.'),
    cause: z
      .enum(['failure', 'output', 'release', 'repair'])
      .optional()
      .describe(
        'Why Heddle started it; absent if a user requested it. failure: the operation before it failed, and onFailure is rollback. output: an output of another cluster changed. release: a node was released. repair: a periodic check found a fault.',
      ),
    unchanged: z.literal(true).optional().describe('There was nothing to do.'),
  })
  .meta({ id: 'operation' });

/** An operation of a cluster as state and status show it. */
export type Operation = View<typeof operationSchema>;

export const clusterMembers = { cluster: z.string(), clusterUid: z.string() };
const unchanged = z
  .literal(true)
  .optional()
  .describe('The cluster already matches the request, or a running operation will make it match.');

export const historySchema = z.object({
  ...clusterMembers,
  operations: z.array(operationSchema).describe('Newest first.'),
});

export const acceptedSchema = z
  .object({ ...clusterMembers, operation: z.object({ id: z.string() }), unchanged })
  .describe('With --no-wait.');

export const pausedSchema = z
  .object({ ...clusterMembers, operation: z.object({ id: z.string() }), paused: z.literal(true) })
  .describe('Result of pause.');

export const endedSchema = z
  .object({
    ...clusterMembers,
    operation: operationSchema,
    unchanged,
    failures: z
      .array(z.object({ ...taskMembers, taskId: z.string().optional(), nodeId: z.string() }))
      .optional()
      .describe('Present if the operation did not succeed.'),
  })
  .describe('The completed or held operation.');

export const keptSchema = z
  .object({ cluster: z.string(), kept: z.literal(true) })
  .describe('A delete while no worker runs: the next worker executes it.');

export type HistoryDocument = DeepReadonly<z.output<typeof historySchema>>;
export type AcceptedDocument = DeepReadonly<z.output<typeof acceptedSchema>>;
export type EndedDocument = DeepReadonly<z.output<typeof endedSchema>>;
