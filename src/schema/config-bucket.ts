import { z } from 'zod';
import { holdsCredentials, isUnprotected } from '../model/endpoint.js';
import { secretTextSchema } from './config-accounts.js';
import { secretReferenceSchema } from './references.js';

/** An object store for the logs of tasks. */
export const bucketSchema = z
  .strictObject({
    endpoint: z
      .url({ protocol: /^https?$/, error: 'An address that begins with https://.' })
      .refine((url) => !isUnprotected(url), {
        error: 'would send logs over the network unencrypted: use https://',
      })
      .refine((url) => !holdsCredentials(url), {
        error: 'contains a user or a password: set accessKeyId and secretAccessKey instead',
      })
      .meta({
        title: 'Endpoint',
        description: 'Address of the object store: "https://s3.eu-central-1.amazonaws.com".',
      }),
    bucket: z
      .string()
      .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, {
        error: 'The name of a bucket: 3 to 63 lower-case letters, digits, dots and hyphens.',
      })
      .meta({ title: 'Bucket', description: 'Name of an existing bucket; Heddle does not create it.' }),
    region: z
      .string()
      .regex(/^[a-z0-9-]{1,64}$/, { error: 'A region: eu-central-1.' })
      .default('us-east-1')
      .meta({ title: 'Region', description: 'Region of the bucket; many stores accept any value.' }),
    prefix: z
      .string()
      .regex(/^([A-Za-z0-9_-][A-Za-z0-9._-]{0,99}\/){0,8}$/)
      .default('')
      .meta({
        title: 'Prefix',
        description: 'Prefix of all object names, with a slash at its end, such as "heddle/".',
      }),
    accessKeyId: secretTextSchema.meta({
      title: 'Access key ID',
      description: 'Text, or a reference such as {secret: "env:S3_ACCESS_KEY_ID"}.',
    }),
    secretAccessKey: secretReferenceSchema.meta({
      title: 'Secret access key',
      writeOnly: true,
      description: 'A reference: {secret: "env:S3_SECRET_ACCESS_KEY"}.',
    }),
  })
  .meta({
    title: 'Object store',
    description:
      'Object store with an S3 API for the task logs of all workers: {endpoint, bucket, region, prefix, accessKeyId, secretAccessKey}. Default: logs are kept in the folder.',
  });
