import { z } from 'zod';
import { anyJsonSchema, fieldsSchema } from './any-fields.js';
import { durationSchema } from './duration.js';
import { secretReferenceSchema } from './references.js';
import { fileKinds, type NamedFileKind } from './named-files.js';
import { foreignNameSchema, pluginNameSchema, simpleNameSchema } from './names.js';

const pathSchema = (kind: NamedFileKind) =>
  z
    .string()
    .min(1)
    .regex(/^[^\0\r\n]+$/, { error: 'Must be a path.' })
    .register(fileKinds, { kind });

/** A folder that Heddle creates. */
export const madeFolderSchema = pathSchema('made');
/** An existing file or folder. */
export const fileSchema = pathSchema('file');

/** A program of the administrator, with its arguments. */
export const commandSchema = z
  .array(
    z
      .string()
      .min(1)
      .max(4_096)
      .regex(/^[^\0]*$/),
  )
  .min(1)
  .max(100)
  .register(fileKinds, { kind: 'command' });

const socketSchema = z.string().min(1).register(fileKinds, { kind: 'socket' });

export const hostKeySchema = z
  .string()
  .regex(/^[a-z0-9@.-]+ [A-Za-z0-9+/]+={0,2}( [^\r\n]*)?$/, { error: 'A public key: "ssh-ed25519 AAAA…".' });

const wordsSchema = (title: string, description: string) =>
  z.record(foreignNameSchema, foreignNameSchema).exactOptional().meta({ title, description });

export const secretTextSchema = z.union([z.string().min(1), secretReferenceSchema], {
  error: 'must be text or a reference such as {secret: "file:PATH"}',
});

const jumpSchema = z
  .strictObject({
    host: z
      .string()
      .regex(/^[A-Za-z0-9[][A-Za-z0-9.:\]_-]*$/, { error: 'A host name or address.' })
      .meta({ title: 'Host', description: 'Name or address of the jump host, as workers see it.' }),
    port: z
      .int()
      .min(1)
      .max(65_535)
      .default(22)
      .meta({ title: 'Port', description: 'SSH port of the jump host.' }),
    user: z
      .string()
      .regex(/^[^\s-]\S*$/, { error: 'A login name.' })
      .meta({ title: 'User', description: 'Login name on the jump host.' }),
    key: secretTextSchema
      .exactOptional()
      .meta({
        title: 'Key',
        writeOnly: true,
        description: 'Private key, preferably as a reference: {secret: "file:PATH"}.',
      }),
    password: secretTextSchema
      .exactOptional()
      .meta({ title: 'Password', writeOnly: true, description: 'Login password, if there is no key.' }),
    agent: socketSchema
      .exactOptional()
      .meta({ title: 'Agent', description: 'Socket of an SSH agent on the worker.' }),
    hostKey: z
      .union([hostKeySchema, z.array(hostKeySchema).min(1).max(16)])
      .meta({
        title: 'Host key',
        description:
          'Public host key, or a list of them, as ssh-keyscan prints it without the host: "ssh-ed25519 AAAA…".',
      }),
  })
  .refine(({ key, password, agent }) => key !== undefined || password !== undefined || agent !== undefined, {
    error: 'must have key, password or agent',
  })
  .meta({
    title: 'Jump host',
    description: 'The SSH jump host to machines that workers cannot reach directly.',
  });

export const providerSchema = z
  .strictObject({
    type: pluginNameSchema.meta({
      title: 'Type',
      description: 'Name of the provider plugin, such as local.',
    }),
    site: simpleNameSchema
      .exactOptional()
      .meta({
        title: 'Site',
        description: "The site whose workers reach the machines. Default: the worker's own site.",
      }),
    fields: fieldsSchema
      .prefault({})
      .meta({
        title: 'Fields',
        description:
          'Values for the administrators\' fields of the plugin. Prefer references for secrets: {secret: "env:NAME"}.',
      }),
    allow: z
      .record(z.string(), z.array(anyJsonSchema).min(1))
      .exactOptional()
      .meta({
        title: 'Allow',
        description:
          "Values that cluster files may set for administrators' fields, such as {network: [web]}. Default: none. heddle plugins show TYPE lists these fields.",
      }),
    hardware: wordsSchema(
      'Hardware',
      "Maps hardware names in cluster files to the provider's names: {small: t3.small}. Other names are passed on unchanged.",
    ),
    images: wordsSchema(
      'Images',
      "Maps image names in cluster files to the provider's names: {debian: ami-0abc}. Other names are passed on unchanged.",
    ),
    jump: jumpSchema.exactOptional(),
    hostKeys: z
      .enum(['pin', 'provided'])
      .exactOptional()
      .meta({
        title: 'Host keys',
        description:
          'How CONFIRM treats a machine whose host key the provider does not supply. provided refuses it; pin trusts the first key that the machine presents, also for logins with a password. Default: the first key is trusted only for logins without a password.',
      }),
    limits: z
      .strictObject({
        ratePerSecond: z
          .number()
          .min(0.001)
          .max(10_000)
          .exactOptional()
          .meta({
            title: 'Rate',
            description: 'Maximum rate of CREATE and DELETE calls per second, over all workers.',
          }),
        callsPerSecond: z
          .number()
          .min(0.001)
          .max(10_000)
          .exactOptional()
          .meta({
            title: 'Calls',
            description:
              'Maximum rate of API calls per second, read-only calls included, over all workers. Only for provider types with countsCalls.',
          }),
        concurrency: z
          .int()
          .min(1)
          .max(10_000)
          .exactOptional()
          .meta({
            title: 'Concurrency',
            description: 'Maximum number of concurrent CREATE and DELETE calls on each worker.',
          }),
        confirmWithin: durationSchema
          .refine((seconds) => seconds >= 1 && seconds <= 86_400, {
            error: 'is not a duration of 1 s to 24 hours',
          })
          .exactOptional()
          .meta({
            title: 'Confirm',
            description:
              'Timeout for the machine of a node to answer, unless its group sets one. Default: 1 minute for existing machines without a controller, 10 minutes for others.',
          }),
        loadWithin: durationSchema
          .refine((seconds) => seconds >= 1 && seconds <= 86_400, {
            error: 'is not a duration of 1 s to 24 hours',
          })
          .exactOptional()
          .meta({ title: 'Load', default: '1h', description: 'Timeout of a load of a machine.' }),
        progressWithin: durationSchema
          .refine((seconds) => seconds >= 1 && seconds <= 86_400, {
            error: 'is not a duration of 1 s to 24 hours',
          })
          .exactOptional()
          .meta({
            title: 'Progress',
            default: '10m',
            description: 'Maximum time without progress while a load writes or retrieves an image.',
          }),
      })
      .exactOptional()
      .meta({
        title: 'Limits',
        description: 'Limits on the rate, concurrency and duration of calls to the provider.',
      }),
  })
  .meta({ title: 'Provider', description: 'A provider account: {type, fields, …}.' });

export const pluginLimitsSchema = z
  .strictObject({
    memoryMb: z
      .int()
      .min(16)
      .max(1_048_576)
      .exactOptional()
      .meta({
        title: 'Memory',
        default: 512,
        description: 'Maximum memory of one program of the plugin and its child processes, in MB.',
      }),
    time: durationSchema
      .exactOptional()
      .meta({
        title: 'Time',
        description: 'Timeout of one call, such as "10m". Default: the timeout of the attempt.',
      }),
    processes: z
      .int()
      .min(1)
      .max(1_000)
      .exactOptional()
      .meta({
        title: 'Processes',
        default: 32,
        description: 'Maximum number of concurrent programs of the plugin on a worker.',
      }),
  })
  .meta({
    title: 'Limits of a plugin',
    description: 'Resource limits of the plugin: {memoryMb, time, processes}.',
  });
