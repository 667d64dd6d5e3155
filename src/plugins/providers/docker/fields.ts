import { z } from 'zod';
import type { JsonObject } from '../../../model/json.js';
import { publicKeys, readFields as readAccountFields, secret, text } from '../../provider-base/fields.js';

const fieldsSchema = z.object({
  endpoint: z
    .string()
    .regex(/^(unix:\/\/\/|https?:\/\/).+/, { error: 'must begin with unix:///, http:// or https://' })
    .default('unix:///var/run/docker.sock'),
  ca: text.optional(),
  cert: text.optional(),
  key: text.optional(),
  privateKey: secret.optional(),
  publicKeys: publicKeys.default([]),
  user: text.default('root'),
  network: text.optional(),
  reachBy: z.enum(['network', 'port']).default('network'),
  address: text.default('127.0.0.1'),
  init: z.boolean().default(true),
  command: z.array(text).min(1).optional(),
  environment: z.record(text, z.union([z.string(), z.number(), z.boolean()])).default({}),
});
export type DockerFields = z.output<typeof fieldsSchema>;

/** @throws PluginError Invalid that names every wrong field. */
export function readFields(fields: JsonObject): DockerFields {
  return readAccountFields(fieldsSchema, fields, 'docker', ({ cert, key }) =>
    (cert === undefined) === (key === undefined)
      ? []
      : ['cert and key require each other: set both or neither'],
  );
}
