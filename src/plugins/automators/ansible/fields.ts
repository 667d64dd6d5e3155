import { isAbsolute, normalize } from 'node:path';
import { z } from 'zod';
import { parseFields } from '../../automator-fields.js';
import { type JsonObject, PluginError } from '../../contract.js';

const tags = z
  .array(z.string({ error: 'is not a valid tag' }).regex(/^(?!-)[\w.-]+$/, { error: 'is not a valid tag' }), {
    error: 'is not a list',
  })
  .default([]);
const variableName = z
  .string()
  .regex(/^[A-Za-z_]\w*$/, {
    error: 'is not a valid variable name: use letters, digits and underscores, not beginning with a digit',
  })
  .refine((name) => name !== 'heddle', { error: 'is set by Heddle itself; use another name' });

const fieldsSchema = z
  .object({
    /** Exactly one of the next three is given. */
    playbook: z.string().optional(),
    path: z
      .string()
      .refine((path) => !isAbsolute(path) && !normalize(path).startsWith('..'), {
        error: "must be a path inside the administrator's folder",
      })
      .optional(),
    role: z
      .string()
      .regex(/^\w[\w.-]*$/, { error: 'is not a valid role name' })
      .optional(),
    tasksFrom: z.string().optional(),
    vars: z.record(variableName, z.json(), { error: 'is not a mapping' }).default({}),
    tags,
    skipTags: tags,
    become: z.boolean().default(false),
    vaultPassword: z.string().optional(),
    interrupted: z.enum(['again', 'hold']).default('again'),
  })
  .superRefine((fields, context) => {
    const given = (['playbook', 'path', 'role'] as const).filter((name) => fields[name]);
    const message = `or path or role must be set: exactly one of them, not ${given.join(' and ') || 'none'}`;
    if (given.length !== 1) context.addIssue({ code: 'custom', path: ['playbook'], message });
  });
export type AnsibleFields = z.output<typeof fieldsSchema>;

export interface AnsibleSettings {
  /** Absolute path of ansible-playbook. */
  readonly program: string;
  readonly folder?: string;
}

/** @throws PluginError Invalid naming every wrong field. */
export function readFields(fields: JsonObject): AnsibleFields {
  return parseFields('ansible', fieldsSchema, fields);
}

/** @throws PluginError Invalid if the administrator has not configured it. */
export function readSettings({ program, folder }: JsonObject): AnsibleSettings {
  if (typeof program !== 'string' || !isAbsolute(program))
    throw new PluginError(
      'Invalid',
      'automator ansible is not set up on this worker: set automators.ansible.fields.program in heddle.yaml to the absolute path of ansible-playbook',
    );
  if (folder !== undefined && (typeof folder !== 'string' || !isAbsolute(folder)))
    throw new PluginError(
      'Invalid',
      'automators.ansible.fields.folder in heddle.yaml must be an absolute path',
    );
  return { program, folder };
}
