import { z } from 'zod';
import { holdsCredentials, isUnprotected } from '../model/endpoint.js';
import { eventTypes } from '../model/webhook.js';
import { secretReferenceSchema } from './references.js';

/** The address of a receiver of events. */
export const receiverUrlSchema = z
  .url({ protocol: /^https?$/, error: 'An address that begins with https://.' })
  .refine((url) => !holdsCredentials(url), {
    error: 'holds a user or a password, which cannot be sent like this: a token may stand in the path',
  });

/** A receiver's setting that permits an address without encryption. */
export const insecureSchema = z
  .boolean()
  .exactOptional()
  .meta({
    title: 'Insecure',
    description:
      'Whether the address may be http:// outside of this machine: the network path can then read the events, and a token in the address.',
  });

/** Whether a receiver's address is encrypted, or need not be. */
export function isProtected({
  url,
  insecure = false,
}: {
  readonly url?: string;
  readonly insecure?: boolean;
}): boolean {
  return url === undefined || insecure || !isUnprotected(url);
}

export const notEncrypted = {
  path: ['url'],
  error: 'is not encrypted: use https://, or set `insecure: true` beside it',
};

export const webhookSchema = z
  .strictObject({
    url: receiverUrlSchema.meta({ title: 'URL', description: 'Gets a signed POST for each event.' }),
    secret: secretReferenceSchema.meta({
      title: 'Secret',
      description: 'Reference to the secret that signs: whsec_ and 24 to 64 bytes in Base64.',
    }),
    events: z
      .array(z.enum(eventTypes))
      .min(1)
      .exactOptional()
      .meta({ title: 'Events', description: 'Events that it receives; all unless given.' }),
    insecure: insecureSchema,
  })
  .refine(isProtected, notEncrypted)
  .meta({ title: 'Webhook', description: 'A receiver of events: {url, secret, events}.' });
