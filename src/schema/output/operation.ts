import { z } from 'zod';
import { actions } from '../../model/action.js';
import { operationKinds } from '../../model/plan/intent/intent.js';
import type { DeepReadonly } from '../../model/json.js';
import { machineActions } from '../../model/machine/actions.js';
import type { Intent } from '../../model/plan/intent/intent.js';
import { count, json, moment, opaque, texts, type View } from './exact.js';

const failureMembers = {
  action: z.enum([...actions, ...machineActions]),
  service: z.string().optional(),
  kind: z.string().describe('`heddle explain KIND` describes it.'),
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
  remedy: z.string().optional().describe('What a person must do before a retry can succeed, as text.'),
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
    revision: count.optional().describe('The revision of the spec that it applies.'),
    unchanged: z.literal(true).optional().describe('There was nothing to do.'),
  })
  .meta({ id: 'operation' });

export const revisionSchema = z
  .object({
    number: count.describe('Counts the accepted changes of the spec, from 1.'),
    workflowId: z.string().describe('The workflow that keeps the spec.'),
    operation: z.string().describe('The operation that brought it.'),
    what: z.string().describe('That operation, as text.'),
    by: z.string(),
    requestedAt: moment,
  })
  .meta({ id: 'revision' });

/** An accepted change of the spec of a cluster. */
export type Revision = View<typeof revisionSchema>;

/** Counts of groups that users set, and those of the file. */
export const scaledSchema = z.record(
  z.string(),
  z.object({ count, file: count.describe('The count in the file.') }),
);

/** An operation of a cluster as state and status show it. */
export type Operation = View<typeof operationSchema>;

const aboutOutput = { secret: z.literal(true).optional(), description: z.string().optional() };

export const outputsMember = z.record(
  z.string(),
  z.union([
    z.object({ ...aboutOutput, value: json.optional().describe('Absent if secret.') }),
    z.object({ ...aboutOutput, missing: z.string().describe('Why it has no value at present.') }),
  ]),
);

export const clusterMembers = { cluster: z.string(), clusterUid: z.string() };
const unchanged = z
  .literal(true)
  .optional()
  .describe('The cluster already matches the request, or a running operation will make it match.');

export const historySchema = z.object({
  ...clusterMembers,
  operations: z.array(operationSchema).describe('Newest first.'),
  revisions: z.array(revisionSchema).describe('The last ones, newest first.'),
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
    outputs: outputsMember.optional().describe('After an apply or a rollback.'),
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
