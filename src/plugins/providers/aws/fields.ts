import { z } from 'zod';
import type { JsonObject } from '../../../model/json.js';
import { port, readFields as readAccountFields, secret, text } from '../../provider-base/fields.js';

const texts = z.array(text).min(1);

const fieldsSchema = z.object({
  region: z.string().regex(/^[a-z0-9-]{3,40}$/, { error: 'must be a region, such as eu-central-1' }),
  accessKeyId: text.optional(),
  secretAccessKey: text.optional(),
  sessionToken: text.optional(),
  endpoint: z
    .url({ protocol: /^https?$/, error: 'must be a URL, such as https://ec2.example.com' })
    .optional(),
  hostKeySecret: text.optional(),
  keyName: text.optional(),
  user: text.default('admin'),
  sshPort: port.default(22),
  privateKey: secret.optional(),
  subnets: texts.optional(),
  zones: texts.optional(),
  securityGroups: texts.optional(),
  publicAddress: z.boolean().optional(),
  reachBy: z.enum(['public', 'private']).default('private'),
  instanceProfile: text.optional(),
  publicKeys: texts.optional(),
  userData: z.string().optional(),
  imageArchitecture: z.enum(['x86_64', 'arm64']).default('x86_64'),
  rootVolumeGb: z.int().min(1).max(65_536).optional(),
  rootVolumeType: text.optional(),
  rootVolumeEncrypted: z.boolean().optional(),
  spot: z.boolean().optional(),
  spotMaxPrice: z
    .string()
    .regex(/^\d+(\.\d+)?$/, { error: 'must be a price in dollars per hour, such as "0.05"' })
    .optional(),
});
export type AwsFields = z.output<typeof fieldsSchema>;

/** @throws PluginError Invalid that names every wrong field. */
export function readFields(fields: JsonObject): AwsFields {
  return readAccountFields(fieldsSchema, fields, 'aws', conflictsOf);
}

function conflictsOf({
  accessKeyId,
  secretAccessKey,
  sessionToken,
  subnets,
  zones,
  spot,
  spotMaxPrice,
}: AwsFields): readonly string[] {
  return [
    ...((accessKeyId === undefined) === (secretAccessKey === undefined)
      ? []
      : ['accessKeyId and secretAccessKey require each other: set both or neither']),
    ...(sessionToken !== undefined && accessKeyId === undefined
      ? ['sessionToken requires accessKeyId and secretAccessKey']
      : []),
    ...(subnets !== undefined && zones !== undefined
      ? ['subnets and zones exclude each other, because a subnet is in one zone: set only one of them']
      : []),
    ...(spotMaxPrice !== undefined && spot !== true ? ['spotMaxPrice requires spot: true'] : []),
  ];
}
