import { z } from 'zod';
import type { JsonObject } from '../../model/json.js';
import { poolNodeStates } from '../../model/pool/node.js';
import { requestStates } from '../../model/pool/request.js';
import { count, millisecond, moment, opaque, texts, type View } from './exact.js';

const amounts = z
  .record(z.string(), z.number())
  .describe('Quantities by name: nodes, cores, memory in MiB, or others that a provider counts.');
const nodeState = z.enum(poolNodeStates);
const anything = (description: string): z.ZodType<JsonObject> => opaque<JsonObject>(description);

const nodeCounts = z
  .object({
    building: count.optional(),
    ready: count.optional(),
    'in-use': count.optional(),
    used: count.optional(),
    hold: count.optional(),
    failed: count.optional(),
    deleting: count.optional(),
  })
  .describe('Number of nodes by state.');

const servedImageSchema = z.object({
  name: z.string(),
  version: z.string().optional(),
  lacks: z.string().optional().describe('Why there is no version.'),
});

const viewSchema = z.object({
  name: z.string(),
  uid: z.string(),
  labels: z.record(
    z.string(),
    z.object({
      minReady: count,
      onReturn: z.string(),
      nodes: nodeCounts,
      lacks: z.string().optional().describe('Why fewer nodes are ready than minReady.'),
      waiting: count.describe('Number of waiting requests.'),
      servedBy: z.array(
        z.object({
          providerPool: z.string(),
          provider: z.string(),
          priority: z.number(),
          slots: count.optional(),
          image: servedImageSchema.optional(),
        }),
      ),
    }),
  ),
  providerPools: z.record(
    z.string(),
    z.object({
      provider: z.string(),
      priority: z.number(),
      limits: amounts,
      used: amounts,
      quota: amounts.optional(),
      paused: z.string().optional().describe('Why no nodes are created there at present.'),
    }),
  ),
  tenants: z.record(z.string(), z.object({ limits: amounts, used: amounts })),
  requests: z.record(z.enum(requestStates), count).describe('Number of requests by state.'),
  leaving: z.object({ by: z.string(), at: millisecond }).optional().describe('The pool is being deleted.'),
  exported: z
    .object({ id: z.string(), by: z.string(), at: millisecond })
    .optional()
    .describe('The pool was exported: its nodes belong to the pool that restores them.'),
  restored: z
    .object({ from: z.string(), at: millisecond })
    .optional()
    .describe('The export that it was restored from.'),
});

/** A pool, with its labels and provider pools. */
export type PoolView = View<typeof viewSchema>;

const nodeMembers = {
  id: z.string(),
  label: z.string(),
  providerPool: z.string(),
  provider: z.string(),
  state: nodeState,
  since: millisecond,
  createdAt: millisecond,
  request: z.string().optional(),
  requester: z.string().optional(),
  tenant: z.string().optional(),
  ipaddress: z.string().optional(),
  providerid: z.string().optional(),
  hold: z.object({ by: z.string(), comment: z.string(), until: millisecond.optional() }).optional(),
  why: z.string().optional(),
  backing: z.string().optional().describe('The node whose machine it is a slot of.'),
  slots: count.optional(),
  handedOut: count.describe('Number of allocations.'),
  image: z.string().optional(),
  replaced: z.enum(['superseded', 'withdrawn']).optional().describe('There is another version of its image.'),
};
const nodeSchema = z.object(nodeMembers);

/** A node for people; contains no secrets. */
export type PoolNodeView = View<typeof nodeSchema>;

const grantedNodeSchema = z.object({
  id: z.string(),
  label: z.string(),
  hostname: z.string(),
  payload: anything('How to reach it; secrets only with --credentials.'),
  providerPool: z.string().optional(),
  attributes: anything('Attributes of the provider pool.'),
  lost: z.literal(true).optional().describe('The request no longer has it.'),
});

/** A node as its requester sees it. */
export type GrantedNode = View<typeof grantedNodeSchema>;

const requestMembers = {
  id: z.string(),
  state: z.enum([...requestStates, 'returned', 'cancelled', 'expired']),
  labels: texts,
  requester: z.string(),
  priority: z.number().optional(),
  tenant: z.string().optional(),
  attributes: anything('Attributes that the requester set.').optional(),
  tags: z.record(z.string(), z.string()).optional(),
  providerPool: z.string().optional(),
  nodes: z.array(grantedNodeSchema).optional().describe('Once it is fulfilled, in the order of the labels.'),
  making: texts.optional().describe('Nodes that are being created for it.'),
  declined: z.record(z.string(), z.string()).optional().describe('Why each provider pool cannot serve it.'),
  waits: z.string().optional(),
  lastFailure: z.string().optional().describe('The last failure of a machine for it, while it waits.'),
  createdAt: millisecond.optional(),
  since: millisecond,
  expiresAt: millisecond.optional(),
  version: count,
};
const requestSchema = z.object(requestMembers).meta({ id: 'request' });

/** A request as its requester sees it. */
export type RequestView = View<typeof requestSchema>;

const waitingSchema = z.object({
  tenant: z.string().optional().describe('Absent for requests without a tenant.'),
  waiting: count,
  oldest: millisecond.describe('When its oldest waiting request was created.'),
  nodes: count.describe('In use, or being created for its requests.'),
  weight: z.number(),
  share: z.number().describe('Its share of all nodes with a request, from 0 to 1.'),
  fairShare: z.number().describe('The share according to its weight.'),
  reasons: z
    .array(z.object({ why: z.string(), requests: count }))
    .describe('The most frequent reason first.'),
});

/** What one tenant waits for. */
export type TenantWaiting = View<typeof waitingSchema>;

const failureSchema = z.object({
  /**
   * - `launch`: no machine was created, or it never answered.
   * - `clean-up`: the script after a use failed.
   * - `check`: a node that was ready did not answer, or its machine was gone.
   */
  stage: z.enum(['launch', 'clean-up', 'check']),
  label: z.string(),
  providerPool: z.string(),
  kind: z.string().optional().describe('Error kind of a failed launch, such as Quota.'),
  why: z.string(),
  node: z.string().describe('The last node with this failure.'),
  times: count.describe('Number of failures with the same reason.'),
  firstAt: millisecond,
  at: millisecond,
});

/** A failure of nodes, counted by reason. */
export type PoolFailure = View<typeof failureSchema>;

const pool = { pool: z.string() };
const silent = texts.describe('Pools that do not answer.');
const requests = z.object({ ...pool, requests: z.array(requestSchema) });

export const poolDocuments = {
  pools: [z.object({ pools: z.array(z.object({ name: z.string(), createdAt: moment })) })],
  pool: [viewSchema],
  'pool-apply': [
    z.object({ pools: z.array(z.object({ name: z.string(), uid: z.string(), unchanged: z.boolean() })) }),
  ],
  'pool-change': [
    z.object({ ...pool, node: z.string(), held: z.boolean() }).describe('Result of hold.'),
    z.object({ ...pool, nodes: texts }).describe('Result of delete with nodes.'),
    z
      .object({
        account: z.string(),
        erased: z.array(z.object({ ...pool, nodes: texts })),
        inUse: z.array(z.object({ ...pool, nodes: texts })).describe('Nodes that are kept without --in-use.'),
        silent,
      })
      .describe('Result of erase.'),
    z
      .object({ ...pool, deleted: z.boolean().describe('False with --no-wait.') })
      .describe('Result of delete.'),
  ],
  'pool-dump': [
    z.object({
      pools: z.array(
        z.object({
          ...viewSchema.shape,
          spec: anything('The current spec of the pool.').nullable(),
          nodes: z.array(nodeSchema),
          requests: z.array(requestSchema),
        }),
      ),
    }),
  ],
  'pool-export': [
    z.object({
      ...pool,
      id: z.string().describe('ID of the export.'),
      nodes: count,
      requests: count,
      records: z.string().describe('Encrypted.'),
    }),
    z.object({ ...pool, cancelled: z.literal(true) }).describe('With --cancel.'),
  ],
  'pool-restore': [
    z.object({
      ...pool,
      id: z.string().describe('ID of the export.'),
      nodes: count,
      requests: count,
      unchanged: z.boolean().describe('Whether it was already restored from this export.'),
    }),
  ],
  'pool-import': [
    z.object({
      pools: anything('For pools.yaml.'),
      providers: anything('For heddle.yaml.'),
      images: anything('Image files, by the names of the images.'),
      remarks: z
        .array(
          z.object({
            path: z.array(z.union([z.string(), z.number()])),
            wrong: z.string(),
            right: z.string().optional(),
            place: z.object({ file: z.string(), line: count, column: count }).optional(),
          }),
        )
        .describe('Settings that differ in Heddle, or are omitted.'),
    }),
  ],
  'pool-nodes': [
    z.object({ ...pool, nodes: z.array(nodeSchema) }),
    z.object({ nodes: z.array(z.object({ ...pool, ...nodeMembers })), silent }).describe('For all pools.'),
  ],
  'pool-failures': [
    z.object({
      pools: z.array(z.object({ ...pool, failures: z.array(failureSchema).describe('The newest first.') })),
      silent,
    }),
  ],
  'pool-waiting': [
    z.object({ pools: z.array(z.object({ ...pool, tenants: z.array(waitingSchema) })), silent }),
  ],
  request: [z.object(requestMembers), requests.describe('With --count.')],
  'request-change': [
    z.object({ ...pool, ids: texts, renewed: z.literal(true) }),
    z.object({ ...pool, ids: texts, priority: count }),
    z.object({ ...pool, ids: texts, ended: z.enum(['cancel', 'return']) }),
  ],
  requests: [
    requests,
    z
      .object({ requests: z.array(z.object({ ...pool, ...requestMembers })), silent })
      .describe('For all pools.'),
  ],
  run: [
    z.object({
      ...pool,
      request: z.string(),
      results: z.array(
        z.object({
          node: z.string(),
          exitCode: count.nullable().describe('Null if unknown, or if the command did not run.'),
          problem: z.string().optional().describe('Why the exit code is unknown.'),
          stdout: z.string().optional().describe('The first and last part, if it is long.'),
          stderr: z.string().optional(),
        }),
      ),
    }),
  ],
};
