import { z } from 'zod';
import type { DeepReadonly } from '../../model/json.js';
import { count, opaque } from './exact.js';
import { clusterMembers, scaledSchema } from './operation.js';
import { specChangeSchema } from './plan.js';

export const getSchema = z.object({
  ...clusterMembers,
  revision: count,
  spec: opaque<object>(
    'The file as it was applied, normalised, without the values of secret variables; docs/reference/cluster-file.md.',
  ),
  scaled: scaledSchema.optional().describe('Counts by `heddle scale` that differ from the file at present.'),
});

export const diffSchema = z.object({
  ...clusterMembers,
  from: count.describe('The revision that is compared.'),
  to: count.optional().describe('The revision that it is compared with; absent: the present state.'),
  changes: z.array(specChangeSchema),
});

export type GetDocument = DeepReadonly<z.output<typeof getSchema>>;
export type DiffDocument = DeepReadonly<z.output<typeof diffSchema>>;
