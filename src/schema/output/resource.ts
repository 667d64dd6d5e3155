import { z } from 'zod';
import { resourceFormats } from '../../model/artifact/reference.js';
import { count, moment, type View } from './exact.js';

const versionSchema = z.object({
  version: count,
  at: moment,
  by: z.string(),
  digest: z.string(),
  format: z.enum(resourceFormats),
  bytes: count,
  parts: count.describe('Number of parts in which it is stored.'),
});

export type ResourceVersion = View<typeof versionSchema>;

const recordSchema = z.object({
  versions: z.array(versionSchema).describe('Oldest first.'),
  set: count.optional().describe('The version that the name refers to.'),
  before: z.array(count).describe('Versions that were set before, the latest last.'),
  /** Numbers are never used again. */
  next: count.describe('The number of the next version.'),
});

/** A resource. Without `set`, no cluster can begin to use it. */
export type ResourceRecord = View<typeof recordSchema>;

const name = { name: z.string() };
const set = count.nullable().describe('The version that is set.');
const prunedSchema = z.object({ ...name, ...versionSchema.shape });

export const resourceDocuments = {
  resource: [z.object({ ...name, ...recordSchema.shape })],
  'resource-get': [
    z.object({
      path: z.string(),
      resource: z.string(),
      version: count,
      digest: z.string(),
      format: z.enum(resourceFormats),
    }),
  ],
  'resource-prune': [
    z.object({ removed: z.array(prunedSchema) }),
    z.object({ wouldRemove: z.array(prunedSchema) }).describe('With --dry-run.'),
  ],
  'resource-put': [z.object({ ...name, ...versionSchema.shape, set })],
  'resource-set': [z.object({ ...name, set, before: z.array(count) })],
  resources: [z.object({ resources: z.array(z.object({ ...name, ...recordSchema.shape })) })],
};
