import { z } from 'zod';
import type { JsonObject } from '../../../model/json.js';
import { port, readFields as readAccountFields, secret, text } from '../../provider-base/fields.js';

const texts = z.array(text).min(1);

const fieldsSchema = z.object({
  authUrl: z.url({ protocol: /^https?$/, error: 'must be a URL, such as https://cloud.example.com:5000/v3' }),
  applicationCredentialId: text.optional(),
  applicationCredentialSecret: text.optional(),
  username: text.optional(),
  password: text.optional(),
  project: text.optional(),
  userDomain: text.default('Default'),
  projectDomain: text.default('Default'),
  region: text.optional(),
  interface: z.enum(['public', 'internal', 'admin']).default('public'),
  gateway: z.boolean().default(false),
  insecure: z.boolean().default(false),
  hostKeySecret: text.optional(),
  privateKey: secret.optional(),
  keyName: text.optional(),
  user: text.default('debian'),
  sshPort: port.default(22),
  networks: texts.optional(),
  securityGroups: texts.optional(),
  zones: texts.optional(),
  floatingNetwork: text.optional(),
  publicKeys: texts.optional(),
  userData: z.string().optional(),
  configDrive: z.boolean().optional(),
  rootVolumeGb: z.int().min(1).max(65_536).optional(),
});
export type OpenStackFields = z.output<typeof fieldsSchema>;

/** @throws PluginError Invalid that names every wrong field. */
export function readFields(fields: JsonObject): OpenStackFields {
  return readAccountFields(fieldsSchema, fields, 'openstack', conflictsOf);
}

function conflictsOf({
  applicationCredentialId,
  applicationCredentialSecret,
  username,
  password,
  project,
}: OpenStackFields): readonly string[] {
  const isApplication = applicationCredentialId !== undefined && applicationCredentialSecret !== undefined;
  const isUser = username !== undefined && password !== undefined && project !== undefined;
  if (isApplication && username !== undefined) return ['set an application credential or a user, not both'];
  return isApplication || isUser
    ? []
    : ['set applicationCredentialId and applicationCredentialSecret, or username, password and project'];
}
