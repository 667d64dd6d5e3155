import { z } from 'zod';
import type { JsonObject } from '../../../model/json.js';
import { PluginError } from '../../contract.js';

const word = z.string().min(1);
const words = z.array(word).min(1);

const fieldsSchema = z.object({
  authUrl: z.url({ protocol: /^https?$/, error: 'is no address, such as https://cloud.example.com:5000/v3' }),
  applicationCredentialId: word.optional(),
  applicationCredentialSecret: word.optional(),
  username: word.optional(),
  password: word.optional(),
  project: word.optional(),
  userDomain: word.default('Default'),
  projectDomain: word.default('Default'),
  region: word.optional(),
  interface: z.enum(['public', 'internal', 'admin']).default('public'),
  gateway: z.boolean().default(false),
  insecure: z.boolean().default(false),
  hostKeySecret: word.optional(),
  privateKey: z.union([word, z.strictObject({ secret: word })]).optional(),
  keyName: word.optional(),
  user: word.default('debian'),
  sshPort: z.int().min(1).max(65_535).default(22),
  networks: words.optional(),
  securityGroups: words.optional(),
  zones: words.optional(),
  floatingNetwork: word.optional(),
  publicKeys: words.optional(),
  userData: z.string().optional(),
  configDrive: z.boolean().optional(),
  rootVolumeGb: z.int().min(1).max(65_536).optional(),
});
export type OpenStackFields = z.output<typeof fieldsSchema>;

/**
 * @throws PluginError Invalid that names every wrong field; values are not quoted, for they may be secret.
 */
export function readFields(fields: JsonObject): OpenStackFields {
  const parsed = fieldsSchema.safeParse(fields);
  const wrong = parsed.success
    ? contradictions(parsed.data)
    : parsed.error.issues.map(({ path, message }) => `${path.map(String).join('.')}: ${message}`);
  if (parsed.success && wrong.length === 0) return parsed.data;
  throw new PluginError('Invalid', `the fields of the openstack provider are wrong: ${wrong.join('; ')}`);
}

function contradictions({
  applicationCredentialId,
  applicationCredentialSecret,
  username,
  password,
  project,
}: OpenStackFields): readonly string[] {
  const isApplication = applicationCredentialId !== undefined && applicationCredentialSecret !== undefined;
  const isUser = username !== undefined && password !== undefined && project !== undefined;
  if (isApplication && username !== undefined) return ['give an application credential or a user, not both'];
  return isApplication || isUser
    ? []
    : ['give applicationCredentialId and applicationCredentialSecret, or username, password and project'];
}
