import { z } from 'zod';
import { holdsCredentials, isUnprotected } from '../model/endpoint.js';
import { eventTypes } from '../model/webhook.js';
import { secretReferenceSchema } from './references.js';

/** The address of a receiver of events. */
export const receiverUrlSchema = z
  .url({ protocol: /^https?$/, error: 'An address that begins with https://.' })
  .refine((url) => !holdsCredentials(url), {
    error: 'contains a user or a password, which is not supported: put a token into the path instead',
  });

/** A receiver's setting that permits an address without encryption. */
export const insecureSchema = z
  .boolean()
  .exactOptional()
  .meta({
    title: 'Insecure',
    description:
      'Whether to allow http:// to other machines. The network can then read the events and any token in the address.',
  });

/** Whether a receiver's address is encrypted, or may be unencrypted. */
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
  error: 'is not encrypted: use https://, or set `insecure: true`',
};

export const webhookSchema = z
  .strictObject({
    url: receiverUrlSchema.meta({
      title: 'URL',
      description: 'Receives a signed POST request for each event.',
    }),
    secret: secretReferenceSchema.meta({
      title: 'Secret',
      description: 'Reference to the signing secret: whsec_ followed by 24 to 64 bytes in Base64.',
    }),
    events: z
      .array(z.enum(eventTypes))
      .min(1)
      .exactOptional()
      .meta({ title: 'Events', description: 'Types of events to send. Default: all.' }),
    insecure: insecureSchema,
  })
  .refine(isProtected, notEncrypted)
  .meta({ title: 'Webhook', description: 'A receiver of events: {url, secret, events}.' });
