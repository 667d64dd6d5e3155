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
    .regex(/^[^\0\r\n]+$/, { error: 'A path.' })
    .register(fileKinds, { kind });

/** A folder that Heddle makes. */
export const madeFolderSchema = pathSchema('made');
/** A file or folder that is there. */
export const fileSchema = pathSchema('file');

/** A program of the administrator, with its words. */
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

const hostKeySchema = z
  .string()
  .regex(/^[a-z0-9@.-]+ [A-Za-z0-9+/]+={0,2}( [^\r\n]*)?$/, { error: 'A public key: "ssh-ed25519 AAAA…".' });

const wordsSchema = (title: string, description: string) =>
  z.record(foreignNameSchema, foreignNameSchema).exactOptional().meta({ title, description });

export const secretTextSchema = z.union([z.string().min(1), secretReferenceSchema], {
  error: 'Text, or a reference such as {secret: "file:PATH"}.',
});

const jumpSchema = z
  .strictObject({
    host: z
      .string()
      .regex(/^[A-Za-z0-9[][A-Za-z0-9.:\]_-]*$/, { error: 'A host name or address.' })
      .meta({ title: 'Host', description: 'Name or address of the jump host, as workers see it.' }),
    port: z.int().min(1).max(65_535).default(22).meta({ title: 'Port', description: 'Its SSH port.' }),
    user: z
      .string()
      .regex(/^[^\s-]\S*$/, { error: 'A login name.' })
      .meta({ title: 'User', description: 'Who logs in there.' }),
    key: secretTextSchema
      .exactOptional()
      .meta({
        title: 'Key',
        writeOnly: true,
        description: 'Private key, best as a reference: {secret: "file:PATH"}.',
      }),
    password: secretTextSchema
      .exactOptional()
      .meta({ title: 'Password', writeOnly: true, description: 'Where there is no key.' }),
    agent: socketSchema
      .exactOptional()
      .meta({ title: 'Agent', description: 'Socket of an SSH agent on the worker.' }),
    hostKey: z
      .union([hostKeySchema, z.array(hostKeySchema).min(1).max(16)])
      .meta({
        title: 'Host key',
        description:
          'The key it must show, as ssh-keyscan prints it without the host: "ssh-ed25519 AAAA…"; or several.',
      }),
  })
  .refine(({ key, password, agent }) => key !== undefined || password !== undefined || agent !== undefined, {
    error: 'Give key, password or agent.',
  })
  .meta({
    title: 'Jump host',
    description: 'The host that machines are reached through, where workers do not reach them themselves.',
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
        description: "The site whose workers reach its machines; the worker's own unless given.",
      }),
    fields: fieldsSchema
      .prefault({})
      .meta({
        title: 'Fields',
        description:
          'Values for the administrators\' fields of the plugin. Secrets best as references: {secret: "env:NAME"}.',
      }),
    allow: z
      .record(z.string(), z.array(anyJsonSchema).min(1))
      .exactOptional()
      .meta({
        title: 'Allow',
        description:
          "Values that cluster files may give to fields that are the administrator's, such as {network: [web]}; none unless given. heddle plugins show TYPE names these fields.",
      }),
    hardware: wordsSchema(
      'Hardware',
      'What clusters call a size, and what the provider does: {small: t3.small}. Other words are passed on as they are.',
    ),
    images: wordsSchema(
      'Images',
      'What clusters call an image, and what the provider does: {debian: ami-0abc}. Other words are passed on as they are.',
    ),
    jump: jumpSchema.exactOptional(),
    hostKeys: z
      .enum(['pin', 'provided'])
      .exactOptional()
      .meta({
        title: 'Host keys',
        description:
          'What CONFIRM does where the provider tells no host key. provided refuses the machine; pin accepts the first key it shows, and sends it a password too. Unless given, the first key is accepted only for logins without a password.',
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
            description: 'Most calls a second that change something, over all workers.',
          }),
        callsPerSecond: z
          .number()
          .min(0.001)
          .max(10_000)
          .exactOptional()
          .meta({
            title: 'Calls',
            description:
              'Most calls of the API a second, looks among them, over all workers; for provider types that count them.',
          }),
        concurrency: z
          .int()
          .min(1)
          .max(10_000)
          .exactOptional()
          .meta({ title: 'Concurrency', description: 'Most such calls at a time on one worker.' }),
        confirmWithin: durationSchema
          .refine((seconds) => seconds >= 1 && seconds <= 86_400, { error: 'is not 1 s to 24 hours' })
          .exactOptional()
          .meta({
            title: 'Confirm',
            description:
              'Longest wait until the machine of a node answers, unless its group says otherwise: 1 minute for machines that exist and have no controller, 10 minutes for others.',
          }),
        loadWithin: durationSchema
          .refine((seconds) => seconds >= 1 && seconds <= 86_400, { error: 'is not 1 s to 24 hours' })
          .exactOptional()
          .meta({ title: 'Load', description: 'Longest time of a load of a machine, 1 h unless given.' }),
        progressWithin: durationSchema
          .refine((seconds) => seconds >= 1 && seconds <= 86_400, { error: 'is not 1 s to 24 hours' })
          .exactOptional()
          .meta({
            title: 'Progress',
            description:
              'Longest time without new progress while an image is written or retrieved, 10 minutes unless given.',
          }),
      })
      .exactOptional()
      .meta({ title: 'Limits', description: 'How hard the provider may be pressed.' }),
  })
  .meta({ title: 'Provider', description: 'An account of a provider: {type, fields, …}.' });

export const pluginLimitsSchema = z
  .strictObject({
    memoryMb: z
      .int()
      .min(16)
      .max(1_048_576)
      .exactOptional()
      .meta({
        title: 'Memory',
        description: 'Most memory, in MB, of one of its programs and what that starts; 512 unless given.',
      }),
    time: durationSchema
      .exactOptional()
      .meta({
        title: 'Time',
        description: 'Longest time of one call, such as "10m"; that of the attempt unless given.',
      }),
    processes: z
      .int()
      .min(1)
      .max(1_000)
      .exactOptional()
      .meta({
        title: 'Processes',
        description: 'Most of its programs at a time on a worker; 32 unless given.',
      }),
  })
  .meta({ title: 'Limits of a plugin', description: 'What it may use: {memoryMb, time, processes}.' });
