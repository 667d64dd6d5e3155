import { z } from 'zod';
import { durationSchema } from '../duration.js';
import { simpleNameSchema } from '../names.js';

const maxBatch = 10_000;
const maxDrained = 50;

/** How operations that disturb a service go through its nodes. */
export const rollingSchema = z
  .strictObject({
    batch: z
      .int()
      .min(1)
      .max(maxBatch)
      .default(1)
      .meta({ title: 'Batch', description: 'How many of its nodes are disturbed at once.' }),
    settle: durationSchema
      .optional()
      .meta({
        title: 'Settle',
        description:
          'Wait after a batch, and after it was drained: "5s", or a number of seconds. None unless given.',
      }),
    drain: z
      .array(simpleNameSchema)
      .max(maxDrained)
      .default([])
      .meta({
        title: 'Drain',
        description:
          'Services that route traffic to this one: they are configured without the nodes of a batch before it stops, and with them when its check has passed.',
      }),
    maxFailures: z
      .int()
      .min(0)
      .max(maxBatch)
      .default(0)
      .meta({
        title: 'Most failures',
        description:
          'On how many nodes the service may fail in one operation, which goes on without these nodes.',
      }),
  })
  .meta({
    title: 'Rolling',
    description: 'Apply, rollback, restart and reconfigure go through the nodes batch by batch.',
  });
