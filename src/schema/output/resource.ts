import { z } from 'zod';
import { resourceFormats } from '../../model/artifact/reference.js';
import type { ResourceRecord, ResourceVersion } from '../../model/artifact/state.js';
import { count, exactly, moment } from './exact.js';

const versionMembers = {
  version: count,
  at: moment,
  by: z.string(),
  digest: z.string(),
  format: z.enum(resourceFormats),
  bytes: count,
  parts: count.describe('Number of parts in which it is stored.'),
};
const versionSchema = exactly<ResourceVersion>()(z.object(versionMembers));

const recordMembers = {
  versions: z.array(versionSchema).describe('Oldest first.'),
  set: count.optional().describe('The version that the name refers to.'),
  before: z.array(count).describe('Versions that were set before, the latest last.'),
  next: count.describe('The number of the next version.'),
};
exactly<ResourceRecord>()(z.object(recordMembers));

const name = { name: z.string() };
const set = count.nullable().describe('The version that is set.');
const prunedSchema = z.object({ ...name, ...versionMembers });

export const resourceDocuments = {
  resource: [z.object({ ...name, ...recordMembers })],
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
  'resource-put': [z.object({ ...name, ...versionMembers, set })],
  'resource-set': [z.object({ ...name, set, before: z.array(count) })],
  resources: [z.object({ resources: z.array(z.object({ ...name, ...recordMembers })) })],
};
