import { z } from 'zod';
import type { JsonObject } from '../../../model/json.js';
import { PluginError } from '../../contract.js';

const word = z.string().min(1);

const fieldsSchema = z.object({
  endpoint: z
    .string()
    .regex(/^(unix:\/\/\/|https?:\/\/).+/, { error: 'must begin with unix:///, http:// or https://' })
    .default('unix:///var/run/docker.sock'),
  ca: word.optional(),
  cert: word.optional(),
  key: word.optional(),
  privateKey: z.union([word, z.strictObject({ secret: word })]).optional(),
  publicKeys: z.array(z.string().regex(/^[^\r\n]+$/, { error: 'one key on one line' })).default([]),
  user: word.default('root'),
  network: word.optional(),
  reachBy: z.enum(['network', 'port']).default('network'),
  address: word.default('127.0.0.1'),
  init: z.boolean().default(true),
  command: z.array(word).min(1).optional(),
  environment: z.record(word, z.union([z.string(), z.number(), z.boolean()])).default({}),
});
export type DockerFields = z.output<typeof fieldsSchema>;

/**
 * @throws PluginError Invalid that names every wrong field; values are not quoted, for they may be secret.
 */
export function readFields(fields: JsonObject): DockerFields {
  const parsed = fieldsSchema.safeParse(fields);
  if (!parsed.success) {
    throw new PluginError(
      'Invalid',
      `the fields of the docker provider are wrong: ${parsed.error.issues.map(({ path, message }) => `${path.map(String).join('.')}: ${message}`).join('; ')}`,
    );
  }
  const { cert, key } = parsed.data;
  if ((cert === undefined) !== (key === undefined))
    throw new PluginError(
      'Invalid',
      'the fields of the docker provider are wrong: cert and key belong together: give both or neither',
    );
  return parsed.data;
}
