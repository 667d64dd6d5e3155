import { z } from 'zod';
import { holdsCredentials, isUnprotected } from '../model/endpoint.js';
import { eventTypes } from '../model/webhook.js';
import { secretReferenceSchema } from './references.js';

/** What is wrong with a receiver's address that holds a user or a password. */
export const noCredentials =
  'holds a user or a password, which cannot be sent like this: a token may stand in the path';

export const webhookSchema = z
  .strictObject({
    url: z
      .url({ protocol: /^https?$/, error: 'An address that begins with https://.' })
      .refine((url) => !holdsCredentials(url), { error: noCredentials })
      .meta({ title: 'URL', description: 'Gets a signed POST for each event.' }),
    secret: secretReferenceSchema.meta({
      title: 'Secret',
      description: 'Reference to the secret that signs: whsec_ and 24 to 64 bytes in Base64.',
    }),
    events: z
      .array(z.enum(eventTypes))
      .min(1)
      .exactOptional()
      .meta({ title: 'Events', description: 'Events that it receives; all unless given.' }),
    insecure: z
      .boolean()
      .exactOptional()
      .meta({
        title: 'Insecure',
        description:
          'Whether the address may be http:// outside of this machine: the network path can then read the events.',
      }),
  })
  .refine(({ url, insecure = false }) => insecure || !isUnprotected(url), {
    path: ['url'],
    error: 'is not encrypted: use https://, or set `insecure: true` beside it',
  })
  .meta({ title: 'Webhook', description: 'A receiver of events: {url, secret, events}.' });
