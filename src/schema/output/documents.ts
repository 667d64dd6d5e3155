import { z } from 'zod';
import type { DeepReadonly } from '../../model/json.js';
import { count, json, moment } from './exact.js';
import { explainDocuments } from './explain.js';
import { imageDocuments } from './image.js';
import { machineDocuments } from './machine.js';
import {
  acceptedSchema,
  endedSchema,
  historySchema,
  keptSchema,
  outputsMember,
  pausedSchema,
} from './operation.js';
import { planSchema } from './plan.js';
import { poolDocuments } from './pool.js';
import { diffSchema, getSchema } from './revision.js';
import { reservationDocuments } from './reservation.js';
import { resourceDocuments } from './resource.js';
import { clusterStatusSchema, nodesSchema, partialStatusSchema, wholeStatusSchema } from './status.js';
import { systemDocuments } from './system.js';
import { taskDocuments } from './task.js';
import { outputVersion } from './version.js';

const errorReportSchema = z
  .object({
    code: z
      .enum([
        'Usage',
        'Invalid',
        'Refused',
        'NotFound',
        'NoServer',
        'NoWorker',
        'Encryption',
        'Failed',
        'Held',
        'Cancelled',
        'Interrupted',
      ])
      .describe('`heddle explain CODE` describes it.'),
    message: z.string(),
    next: z.string().optional().describe('The command to run next.'),
    remedy: z.string().optional().describe('What a person must do before that command, as text.'),
  })
  .meta({ id: 'error' });

const listSchema = z.object({
  clusters: z
    .array(
      z.object({
        name: z.string(),
        phase: z.string().optional(),
        stuck: z.literal(true).optional().describe('No worker can continue it: `heddle recover`.'),
        labels: z.record(z.string(), z.string()).optional(),
        createdAt: moment,
        reason: z
          .string()
          .optional()
          .describe('Why it is held, failed, paused or stuck; absent if it did not answer in time.'),
      }),
    )
    .describe('Problems first: stuck, held, failed, paused.'),
  workers: z
    .array(z.object({ worker: z.string(), build: z.string().optional() }))
    .optional()
    .describe('Live workers, without builders; absent if the server does not list them.'),
  unattendedSites: z
    .array(z.string())
    .optional()
    .describe('Sites of heddle.yaml that no worker serves; absent if the server does not list workers.'),
});

const validateSchema = z.object({
  file: z.string(),
  kind: z.enum(['cluster', 'image', 'pools']),
  valid: z.boolean(),
  problems: z.array(
    z.object({
      severity: z.enum(['error', 'warning']),
      line: count.optional().describe('From 1.'),
      column: count.optional().describe('From 1.'),
      path: z.array(z.union([z.string(), z.number()])).describe('Keys and indexes from the top of the file.'),
      message: z.string(),
      remedy: z.string().optional(),
    }),
  ),
});

const outputsSchema = z.object({ cluster: z.string(), outputs: outputsMember });

const outputSchema = z
  .object({ cluster: z.string(), output: z.string(), value: json })
  .describe('With KEY; also for a secret.');

/**
 * Documents that commands write with --json, by the name of the published schema; several if
 * the document varies.
 */
const documents = {
  diff: [diffSchema],
  error: [z.object({})],
  get: [getSchema],
  history: [historySchema],
  list: [listSchema],
  nodes: [nodesSchema],
  operation: [endedSchema, acceptedSchema, keptSchema, pausedSchema],
  output: [outputsSchema, outputSchema],
  plan: [planSchema],
  status: [wholeStatusSchema, partialStatusSchema],
  'status-watch': [clusterStatusSchema],
  validate: [validateSchema],
  ...explainDocuments,
  ...imageDocuments,
  ...machineDocuments,
  ...poolDocuments,
  ...reservationDocuments,
  ...resourceDocuments,
  ...systemDocuments,
  ...taskDocuments,
} satisfies Readonly<Record<string, readonly z.ZodObject[]>>;

export type DocumentName = keyof typeof documents;

/** The schemas of whole documents, by name: with the members that `Output` and `show` add to all. */
export function documentSchemas(): readonly (readonly [name: string, schema: z.ZodType])[] {
  return Object.entries(documents).map(([name, variants]) => {
    const error = name === 'error' ? errorReportSchema : errorReportSchema.optional();
    const whole = variants.map((variant: z.ZodObject) => inEnvelope(variant, error));
    return [name, whole.length === 1 && whole[0] !== undefined ? whole[0] : z.union(whole)] as const;
  });
}

function inEnvelope(document: z.ZodObject, error: z.ZodType): z.ZodObject {
  const version = z
    .literal(outputVersion)
    .describe('Within a version, members and values are only added. Ignore unknown ones.');
  return z
    .object({ schemaVersion: version, ...document.shape, error })
    .meta({ ...z.globalRegistry.get(document) });
}

type Read<Schema extends z.ZodType> = DeepReadonly<z.output<Schema>>;

export type ErrorReport = Read<typeof errorReportSchema>;
export type ListDocument = Read<typeof listSchema>;
export type ValidateDocument = Read<typeof validateSchema>;
export type OutputsDocument = Read<typeof outputsSchema>;
export type OutputDocument = Read<typeof outputSchema>;
