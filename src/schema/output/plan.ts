import { z } from 'zod';
import { actions } from '../../model/action.js';
import type { DeepReadonly } from '../../model/json.js';
import { purposes } from '../../model/plan/plan.js';
import { count, opaque, texts, type View } from './exact.js';
import { scaledSchema } from './operation.js';
import { driftSchema } from './status.js';

const taskSchema = z.object({
  id: z.string(),
  purpose: z.enum(purposes),
  nodes: texts,
  action: z.enum(actions),
  service: z.string().optional(),
  reason: z.string().optional().describe('Why it is repeated, as text.'),
  after: texts.optional().describe('Gates that it waits for.'),
  batchSlot: z.string().optional().describe('The batch of a rolling operation that it belongs to.'),
});

const layoutSchema = z.object({
  count: count.optional(),
  services: texts,
  provider: z.string().optional(),
  site: z.string().optional(),
  hardware: z.string().optional(),
  image: z.string().optional(),
});

export const specChangeSchema = z.object({
  /** Such as `services.web.actions.install.fields.script`. */
  path: z.string(),
  lines: z.array(z.object({ sign: z.enum(['+', '-', ' ']), text: z.string() })),
});

/** A changed place of a cluster file, in its normalised form. */
export type SpecChange = View<typeof specChangeSchema>;

export const planSchema = z.object({
  cluster: z.string(),
  what: z.string().describe('The operation, as text.'),
  changes: z.boolean().describe('Whether there is anything to do.'),
  warnings: texts,
  scaled: scaledSchema.optional().describe('Counts by `heddle scale` that differ from the file, by group.'),
  left: count.optional().describe('Tasks of the spec that a limited apply skips.'),
  counts: z
    .object({
      create: count.optional(),
      update: count.optional(),
      replace: count.optional(),
      remove: count.optional(),
      exec: count.optional(),
      tasks: count,
    })
    .describe('Nodes by purpose, and tasks.'),
  drift: z.array(z.object({ nodes: texts, seen: driftSchema, then: z.string() })),
  lostDisks: texts.describe('Nodes whose machines are deleted.'),
  released: texts.describe('Nodes whose machines return to their pool or inventory.'),
  stopped: texts.describe('Services that a user stopped.'),
  notes: texts.describe('What the plan does not change, and why.'),
  specChanges: z.array(specChangeSchema),
  layout: z.record(z.string(), layoutSchema).describe('Groups of nodes after the operation.'),
  tasks: z.array(taskSchema),
  edges: z
    .array(z.object({ from: z.string(), to: z.string(), gate: z.string().optional() }))
    .describe('Task `to` waits for task `from`: on the same node, or, with a gate, on all nodes.'),
  later: z.array(taskSchema).describe('Tasks that are planned again after the others.'),
  plan: opaque<object>('The plan as Heddle stores it; may change in any release.'),
  current: opaque<object>('The cluster as the planner sees it; may change in any release.'),
});

export type PlanDocument = DeepReadonly<z.output<typeof planSchema>>;
export type GraphEdge = PlanDocument['edges'][number];
