import { z } from 'zod';
import { actions } from '../../model/action.js';
import type { ClusterStatus, NodeStatus } from '../../model/cluster/view.js';
import type { DeepReadonly, JsonObject } from '../../model/json.js';
import { count, exactly, moment, opaque, texts } from './exact.js';
import { failureSchema, operationSchema } from './operation.js';

export const driftSchema = z
  .enum(['gone', 'stopped', 'rebooted', 'moved', 'unreachable'])
  .describe('How the last probe found the machine.');

const nodeSchema = exactly<NodeStatus>()(
  z
    .object({
      nodeId: z.string(),
      group: z.string(),
      nodenum: count,
      hostname: z.string(),
      incarnation: count.describe('0 before its first machine.'),
      provider: z.string().optional(),
      site: z.string().optional(),
      providerid: z.string().optional(),
      ipaddress: z.string().optional(),
      services: texts.describe('Services that it has or is getting.'),
      running: texts.describe('Services that run.'),
      state: z
        .enum(['new', 'working', 'incomplete', 'ready', 'drifted', 'failed', 'leaving'])
        .describe(
          'incomplete: not all of its services were installed and configured. drifted: at rest, and the last probe did not find its machine as it should be.',
        ),
      current: z
        .object({
          action: z.enum(actions),
          service: z.string().optional(),
          state: z.enum(['waiting', 'queued', 'paused', 'running']),
          gates: texts.optional(),
          since: moment,
        })
        .optional(),
      failure: failureSchema.optional(),
      drift: z
        .object({ seen: driftSchema, why: z.string(), at: moment.describe('When it was seen last.') })
        .optional(),
      health: z
        .record(z.string(), z.object({ well: z.boolean(), at: moment, why: z.string().optional() }))
        .optional()
        .describe('By service.'),
      checkedAt: moment.optional().describe('When a task or a probe last found its machine as it should be.'),
      payload: opaque<JsonObject>('What plugins returned for the node, without secrets.'),
    })
    .meta({ id: 'node' }),
);

export const clusterStatusSchema = exactly<ClusterStatus>()(
  z.object({
    name: z.string(),
    uid: z.string(),
    phase: z.enum(['idle', 'applying', 'operating', 'paused', 'held', 'deleting', 'deleted']),
    operation: operationSchema.optional().describe('The operation under way.'),
    lease: z
      .object({
        nodeId: z.string(),
        leaseId: z.string(),
        to: z.string(),
        since: moment,
        rewrites: z.literal(true).optional(),
      })
      .optional()
      .describe('The node that an image build works on.'),
    queued: z.array(operationSchema),
    history: z.array(operationSchema).describe('Operations that ended.'),
    nodes: z.array(nodeSchema),
    services: z.record(z.string(), z.object({ nodes: texts })),
    labels: z.record(z.string(), z.string()).optional(),
    earlierSpec: z.literal(true).optional().describe('A rollback has a spec to go back to.'),
    locked: z.literal(true).optional().describe('The cluster file refuses the loss of machines.'),
    readers: z
      .record(z.string(), texts)
      .optional()
      .describe('Outputs that other clusters use, by the names of those.'),
    stopped: texts.describe('Services that a user stopped.'),
    checks: z
      .object({ asked: count, done: count, every: z.number().optional() })
      .describe('Probes that were requested and done; the interval of periodic probes in seconds.'),
    plugins: z
      .record(z.string(), z.object({ version: z.string(), digest: z.string().optional() }))
      .optional(),
    groups: z
      .array(z.object({ group: z.string(), workflowId: z.string(), nodes: count, failed: count }))
      .optional()
      .describe('Workflows of a large cluster.'),
  }),
);

const workflowSchema = z.object({
  id: z.string(),
  runId: z.string(),
  events: count,
  task: z
    .object({ attempt: count, since: moment, failure: z.string().optional() })
    .optional()
    .describe('Present while the workflow task fails, or no worker takes it.'),
});

const activitySchema = z.object({
  id: z.string(),
  title: z.string().describe('INSTALL app on app-1, or PLAN.'),
  nodeId: z.string().optional(),
  state: z.enum(['waits for a worker', 'under way', 'is being cancelled']),
  attempt: count,
  since: moment,
  queue: z.string().optional(),
  worker: z.string().optional(),
  step: z.string().optional().describe('What the attempt under way reported last.'),
  failure: z.object({ kind: z.string(), message: z.string() }).optional().describe('Of the attempt before.'),
});

const queueSchema = z.object({
  queue: z.string(),
  tasks: z.enum(['workflows', 'activities']),
  workers: count.describe('Workers that polled it lately.'),
  last: z.object({ worker: z.string(), at: moment }).optional().describe('The last poll.'),
});

const deliverySchema = z.object({
  id: z.string().describe('The workflow of the delivery.'),
  event: z.string().describe('Its type.'),
  webhook: z.string(),
  state: z.enum(['under way', 'given up']),
  attempt: count.optional(),
  since: moment,
  failure: z.string().optional().describe('Of the attempt before, or the last.'),
});

const nextStepSchema = z.object({ command: z.string(), why: z.string() });

export const troubleSchema = z.object({
  text: z.string(),
  gist: z.string().describe('The text without durations.'),
  next: nextStepSchema.optional(),
});

const serverMembers = {
  createdAt: moment,
  ended: z.string().optional().describe('How and when a deleted cluster ended.'),
  server: z
    .object({
      workflows: z.array(workflowSchema),
      activities: z.array(activitySchema),
      queues: z.array(queueSchema),
    })
    .describe('What the Temporal server knows.'),
  troubles: z.array(troubleSchema).describe('What keeps the cluster from going on.'),
  deliveries: z.array(deliverySchema).describe('Events that webhooks have not received, the newest ten.'),
  next: z.array(nextStepSchema).describe('Useful commands, the most likely first.'),
};

export const wholeStatusSchema = z.object({ ...clusterStatusSchema.shape, ...serverMembers });

export const partialStatusSchema = z
  .object({
    name: z.string(),
    uid: z.string().optional(),
    phase: z.string().optional(),
    partial: z.literal(true),
    ...serverMembers,
  })
  .describe('If no worker answers, or its answer cannot be read: what the server alone knows.');

export const nodesSchema = z.object({ cluster: z.string(), nodes: z.array(nodeSchema) });

type Read<Schema extends z.ZodType> = DeepReadonly<z.output<Schema>>;

export type StatusDocument = Read<typeof wholeStatusSchema> | Read<typeof partialStatusSchema>;
export type NodesDocument = Read<typeof nodesSchema>;
/** What the server alone knows of a cluster, or a machine, is at; no worker is asked. */
export type ServerView = StatusDocument['server'];
export type WorkflowView = Read<typeof workflowSchema>;
export type ActivityView = Read<typeof activitySchema>;
export type DeliveryView = Read<typeof deliverySchema>;
/** The workers that poll a queue. */
export type QueueView = Read<typeof queueSchema>;
/** A command that is useful now, and its purpose. */
export type NextStep = Read<typeof nextStepSchema>;
/** Something that keeps a cluster, or a machine, from going on, as the server sees it. */
export type Trouble = StatusDocument['troubles'][number];
