import { z } from 'zod';
import {
  defaultRepair,
  failurePolicies,
  peersChanges,
  peersNeeded,
  type ClusterSpec,
} from '../model/cluster/spec.js';
import { anyJsonSchema, fieldsSchema } from './any-fields.js';
import { closedCheckSchema } from './health.js';
import { clusterNameSchema, foreignNameSchema, pluginNameSchema, simpleNameSchema } from './names.js';
import { maxNodes } from './spec.js';

const names = z.array(simpleNameSchema);
const needs = z.strictObject({ requires: names, uses: names });
const milliseconds = z.int().min(1);
const nodeCount = z.int().min(1).max(maxNodes);

const action = z.strictObject({
  type: pluginNameSchema,
  fields: fieldsSchema,
  attempts: z.int().min(1).exactOptional(),
  backoffMs: milliseconds.exactOptional(),
  timeoutMs: milliseconds.exactOptional(),
  permanentExitCodes: z.array(z.int().min(1).max(255)).exactOptional(),
});

const service = z.strictObject({
  provides: names,
  conflicts: names,
  install: needs,
  runtime: needs,
  peers: z.enum(peersNeeded),
  onPeersChange: z.enum(peersChanges),
  check: closedCheckSchema.exactOptional(),
  actions: z.strictObject({
    install: action.exactOptional(),
    configure: action.exactOptional(),
    initialize: action.exactOptional(),
    start: action.exactOptional(),
    stop: action.exactOptional(),
    remove: action.exactOptional(),
  }),
});

const group = z.strictObject({
  count: nodeCount,
  minimum: nodeCount.exactOptional(),
  provider: simpleNameSchema,
  hardware: foreignNameSchema,
  image: foreignNameSchema,
  services: names,
  fields: fieldsSchema,
  confirmWithinMs: milliseconds.exactOptional(),
  alternatives: z
    .array(
      z.strictObject({
        provider: simpleNameSchema,
        hardware: foreignNameSchema.exactOptional(),
        image: foreignNameSchema.exactOptional(),
        fields: fieldsSchema.exactOptional(),
      }),
    )
    .exactOptional(),
});

const repair = z.strictObject({
  gone: z.enum(['replace', 'nothing']),
  stopped: z.enum(['replace', 'nothing']),
  unreachable: z.enum(['replace', 'nothing']),
  rebooted: z.enum(['start', 'nothing']),
  moved: z.enum(['confirm', 'nothing']),
  everyMs: milliseconds.exactOptional(),
});

/** A spec that was closed before: what a client sends, and what a workflow hands to PLAN again. */
export const closedSpecSchema = z.strictObject({
  name: clusterNameSchema,
  config: z.record(z.string(), anyJsonSchema),
  groups: z
    .record(simpleNameSchema, group)
    .refine((groups) => Object.keys(groups).length > 0, { error: 'has no group of nodes' }),
  services: z.record(simpleNameSchema, service),
  onFailure: z.enum(failurePolicies),
  // Specs that were closed before there were repairs have none.
  repair: repair.default(defaultRepair),
}) satisfies z.ZodType<ClusterSpec>;
