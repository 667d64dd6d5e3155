import { z } from 'zod';
import type { DeepReadonly, Json } from '../../model/json.js';
import { count, moment } from './exact.js';
import { imageDocuments } from './image.js';
import { machineDocuments } from './machine.js';
import { acceptedSchema, endedSchema, historySchema, keptSchema, pausedSchema } from './operation.js';
import { planSchema } from './plan.js';
import { poolDocuments } from './pool.js';
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
      .describe('docs/cli.md lists the exit codes.'),
    message: z.string(),
    next: z.string().optional().describe('The command to run next.'),
  })
  .meta({ id: 'error' });

const listSchema = z.object({
  clusters: z.array(
    z.object({
      name: z.string(),
      phase: z.string().optional(),
      stuck: z.literal(true).optional().describe('No worker can continue it: `heddle recover`.'),
      labels: z.record(z.string(), z.string()).optional(),
      createdAt: moment,
    }),
  ),
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

const json = z.unknown() as z.ZodType<Json>;
const aboutOutput = { secret: z.literal(true).optional(), description: z.string().optional() };

const outputsSchema = z.object({
  cluster: z.string(),
  outputs: z.record(
    z.string(),
    z.union([
      z.object({ ...aboutOutput, value: json.optional().describe('Absent if secret.') }),
      z.object({ ...aboutOutput, missing: z.string().describe('Why it has no value at present.') }),
    ]),
  ),
});

const outputSchema = z
  .object({ cluster: z.string(), output: z.string(), value: json })
  .describe('With KEY; also for a secret.');

/** Documents that commands write with --json, by the name of the published schema; several if the document varies. */
const documents = {
  error: [z.object({})],
  history: [historySchema],
  list: [listSchema],
  nodes: [nodesSchema],
  operation: [endedSchema, acceptedSchema, keptSchema, pausedSchema],
  output: [outputsSchema, outputSchema],
  plan: [planSchema],
  status: [wholeStatusSchema, partialStatusSchema],
  'status-watch': [clusterStatusSchema],
  validate: [validateSchema],
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
