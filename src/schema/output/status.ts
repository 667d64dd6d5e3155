import { z } from 'zod';
import { actions } from '../../model/action.js';
import type { JsonObject } from '../../model/json.js';
import { drifts } from '../../model/node/drift.js';
import { count, moment, opaque, texts, type View } from './exact.js';
import { failureSchema, operationSchema, outputsMember, revisionSchema, scaledSchema } from './operation.js';

export const driftSchema = z.enum(drifts).describe('State of the machine at the last probe.');

const nodeSchema = z
  .object({
    nodeId: z.string(),
    group: z.string(),
    nodenum: count,
    hostname: z.string(),
    incarnation: count.describe('Number of the machine; 0 before the first one.'),
    provider: z.string().optional(),
    site: z.string().optional(),
    providerid: z.string().optional(),
    ipaddress: z.string().optional(),
    services: texts.describe('Services that it has or is getting.'),
    running: texts.describe('Services that run.'),
    state: z
      .enum(['new', 'working', 'incomplete', 'ready', 'drifted', 'failed', 'leaving'])
      .describe(
        'incomplete: not all of its services were installed and configured. drifted: idle, and the last probe found drift.',
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
      .object({ seen: driftSchema, why: z.string(), at: moment.describe('When it was last observed.') })
      .optional(),
    health: z
      .record(z.string(), z.object({ well: z.boolean(), at: moment, why: z.string().optional() }))
      .optional()
      .describe('Results of health checks, by service.'),
    checkedAt: moment.optional().describe('When a task or a probe last found its machine without drift.'),
    payload: opaque<JsonObject>('What plugins returned for the node, without secrets.'),
  })
  .meta({ id: 'node' });

/** What a cluster is doing. */
export const clusterPhases = [
  'idle',
  'applying',
  'operating',
  'paused',
  'held',
  'failed',
  'deleting',
  'deleted',
] as const;

export const clusterStatusSchema = z.object({
  name: z.string(),
  uid: z.string(),
  phase: z
    .enum(clusterPhases)
    .describe('idle: at rest. failed: at rest, and the last operation failed, unless it was a command.'),
  operation: operationSchema.optional().describe('The running operation.'),
  lease: z
    .object({
      nodeId: z.string(),
      leaseId: z.string(),
      to: z.string(),
      since: moment,
      rewrites: z.literal(true).optional(),
    })
    .optional()
    .describe('The node that is leased for exclusive use, such as by an image build.'),
  queued: z.array(operationSchema),
  history: z.array(operationSchema).describe('Completed operations.'),
  revisions: z.array(revisionSchema).describe('The last accepted changes of the spec, newest first.'),
  scaled: scaledSchema.optional().describe('Counts that differ from the file, by group.'),
  nodes: z.array(nodeSchema),
  services: z.record(z.string(), z.object({ nodes: texts })),
  labels: z.record(z.string(), z.string()).optional(),
  earlierSpec: z.literal(true).optional().describe('There is a previous spec for a rollback.'),
  locked: z.literal(true).optional().describe('The cluster file locks the machines.'),
  readers: z
    .record(z.string(), texts)
    .optional()
    .describe('Outputs that other clusters use, by the name of the other cluster.'),
  stopped: texts.describe('Services that a user stopped.'),
  checks: z
    .object({ asked: count, done: count, every: z.number().optional() })
    .describe('Numbers of requested and completed probes; interval of periodic probes in seconds.'),
  plugins: z.record(z.string(), z.object({ version: z.string(), digest: z.string().optional() })).optional(),
  groups: z
    .array(
      z.object({
        group: z.string(),
        workflowId: z.string(),
        nodes: count,
        failed: count,
        lost: z
          .literal(true)
          .optional()
          .describe('Its workflow is gone; the next apply looks for the machines of its nodes.'),
      }),
    )
    .optional()
    .describe('Workflows of a large cluster.'),
});

export type NodeStatus = View<typeof nodeSchema>;

/** A cluster for people and programs; contains no secrets. */
export type ClusterStatus = View<typeof clusterStatusSchema>;

/** A workflow of a large cluster. */
export type GroupStatus = NonNullable<ClusterStatus['groups']>[number];

const workflowSchema = z.object({
  id: z.string(),
  runId: z.string(),
  events: count,
  task: z
    .object({ attempt: count, since: moment, failure: z.string().optional() })
    .optional()
    .describe('Present while the workflow task fails, or no worker polls it.'),
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
  step: z.string().optional().describe('The last progress report of the current attempt.'),
  failure: z
    .object({
      kind: z.string(),
      message: z.string(),
      remedy: z.string().optional().describe('What a person must do before a retry can succeed, as text.'),
    })
    .optional()
    .describe('Failure of the previous attempt.'),
});

const queueSchema = z.object({
  queue: z.string(),
  tasks: z.enum(['workflows', 'activities']),
  workers: count.describe('Number of workers that polled it recently.'),
  last: z.object({ worker: z.string(), at: moment }).optional().describe('The last poll.'),
});

const deliverySchema = z.object({
  id: z.string().describe('The workflow of the delivery.'),
  event: z.string().describe('Type of the event.'),
  webhook: z.string(),
  state: z.enum(['under way', 'given up']),
  attempt: count.optional(),
  since: moment,
  failure: z.string().optional().describe('Failure of the previous or last attempt.'),
});

const nextStepSchema = z.object({
  command: z.string(),
  why: z.string(),
  remedy: z.string().optional().describe('What a person must do before the command can succeed, as text.'),
});

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
    .describe('State on the Temporal server.'),
  troubles: z.array(troubleSchema).describe('Problems that prevent progress of the cluster.'),
  deliveries: z.array(deliverySchema).describe('Events that webhooks have not received; the newest ten.'),
  next: z.array(nextStepSchema).describe('Useful commands, the most likely first.'),
};

export const wholeStatusSchema = z.object({
  ...clusterStatusSchema.shape,
  outputs: outputsMember.optional(),
  ...serverMembers,
});

export const partialStatusSchema = z
  .object({
    name: z.string(),
    uid: z.string().optional(),
    phase: z.string().optional(),
    partial: z.literal(true),
    ...serverMembers,
  })
  .describe('The state on the server only, if no worker answers or its answer cannot be read.');

export const nodesSchema = z.object({ cluster: z.string(), nodes: z.array(nodeSchema) });

export type StatusDocument = View<typeof wholeStatusSchema> | View<typeof partialStatusSchema>;
export type NodesDocument = View<typeof nodesSchema>;
/** The state of a cluster or machine on the server; requires no worker. */
export type ServerView = StatusDocument['server'];
export type WorkflowView = View<typeof workflowSchema>;
export type ActivityView = View<typeof activitySchema>;
export type DeliveryView = View<typeof deliverySchema>;
/** The workers that poll a queue. */
export type QueueView = View<typeof queueSchema>;
/** A suggested command, and its purpose. */
export type NextStep = View<typeof nextStepSchema>;
/** A problem that prevents progress of a cluster or machine, as seen on the server. */
export type Trouble = StatusDocument['troubles'][number];
