import { z } from 'zod';
import type { JsonObject } from '../../../model/json.js';
import { PluginError } from '../../contract.js';

const word = z.string().min(1);
const words = z.array(word).min(1);

const fieldsSchema = z.object({
  region: z.string().regex(/^[a-z0-9-]{3,40}$/, { error: 'is no region, such as eu-central-1' }),
  accessKeyId: word.optional(),
  secretAccessKey: word.optional(),
  sessionToken: word.optional(),
  endpoint: z
    .url({ protocol: /^https?$/, error: 'is no address, such as https://ec2.example.com' })
    .optional(),
  hostKeySecret: word.optional(),
  keyName: word.optional(),
  user: word.default('admin'),
  sshPort: z.int().min(1).max(65_535).default(22),
  privateKey: z.union([word, z.strictObject({ secret: word })]).optional(),
  subnets: words.optional(),
  zones: words.optional(),
  securityGroups: words.optional(),
  publicAddress: z.boolean().optional(),
  reachBy: z.enum(['public', 'private']).default('private'),
  instanceProfile: word.optional(),
  publicKeys: words.optional(),
  userData: z.string().optional(),
  rootVolumeGb: z.int().min(1).max(65_536).optional(),
  rootVolumeType: word.optional(),
  rootVolumeEncrypted: z.boolean().optional(),
  spot: z.boolean().optional(),
  spotMaxPrice: z
    .string()
    .regex(/^\d+(\.\d+)?$/, { error: 'is no price in dollars an hour, such as "0.05"' })
    .optional(),
});
export type AwsFields = z.output<typeof fieldsSchema>;

/**
 * @throws PluginError Invalid that names every wrong field; values are not quoted, for they may be secret.
 */
export function readFields(fields: JsonObject): AwsFields {
  const parsed = fieldsSchema.safeParse(fields);
  const wrong = parsed.success
    ? contradictions(parsed.data)
    : parsed.error.issues.map(({ path, message }) => `${path.map(String).join('.')}: ${message}`);
  if (parsed.success && wrong.length === 0) return parsed.data;
  throw new PluginError('Invalid', `the fields of the aws provider are wrong: ${wrong.join('; ')}`);
}

function contradictions({
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
      : ['accessKeyId and secretAccessKey belong together: give both or neither']),
    ...(sessionToken !== undefined && accessKeyId === undefined
      ? ['sessionToken is nothing without accessKeyId and secretAccessKey']
      : []),
    ...(subnets !== undefined && zones !== undefined
      ? ['a subnet lies in one zone: give subnets or zones, not both']
      : []),
    ...(spotMaxPrice !== undefined && spot !== true ? ['spotMaxPrice is nothing without spot: true'] : []),
  ];
}
