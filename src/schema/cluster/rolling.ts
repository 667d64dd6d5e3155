import { z } from 'zod';
import { durationSchema } from '../duration.js';
import { simpleNameSchema } from '../names.js';

const maxBatch = 10_000;
const maxDrained = 50;

/** How disruptive operations proceed through the nodes of a service. */
export const rollingSchema = z
  .strictObject({
    batch: z
      .int()
      .min(1)
      .max(maxBatch)
      .default(1)
      .meta({
        title: 'Batch',
        description:
          'Number of nodes that are disturbed at once; with drain fewer than the service has, unless it has one.',
      }),
    settle: durationSchema
      .optional()
      .meta({
        title: 'Settle',
        description:
          'Wait after each batch, and after a batch was drained: "5s", or a number of seconds. Default: no wait.',
      }),
    drain: z
      .array(simpleNameSchema)
      .max(maxDrained)
      .default([])
      .meta({
        title: 'Drain',
        description:
          'Services that route traffic to this one. They are configured without the nodes of a batch before the batch stops, and with them once its checks have passed.',
      }),
    maxFailures: z
      .int()
      .min(0)
      .max(maxBatch)
      .default(0)
      .meta({
        title: 'Maximum failures',
        description:
          'Maximum number of nodes on which the service may fail in one operation; the operation continues without these nodes.',
      }),
  })
  .meta({
    title: 'Rolling',
    description: 'Apply, rollback, restart and reconfigure proceed through the nodes in batches.',
  });
