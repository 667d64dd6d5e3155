import { z } from 'zod';
import { fieldsSchema } from './any-fields.js';
import {
  commandSchema,
  fileSchema,
  madeFolderSchema,
  pluginLimitsSchema,
  providerSchema,
} from './config-accounts.js';
import { builderSchema } from './config-builder.js';
import { runFoldersSchema, storeSchema } from './config-retention.js';
import { durationSchema } from './duration.js';
import { passedVariableSchema, pluginNameSchema, simpleNameSchema } from './names.js';
import { referencePatternFault } from './reference-pattern.js';
import { insecureSchema, isProtected, notEncrypted, receiverUrlSchema, webhookSchema } from './webhook.js';

/** An address, not a name: it is where one listens. */
export const metricsAddressSchema = z
  .string()
  .regex(/^(\d{1,3}(\.\d{1,3}){3}|\[[0-9a-fA-F:]+\]):[1-9]\d{0,4}$/, {
    error: 'An address and a port: 127.0.0.1:9464.',
  });

/** heddle.yaml as people write it. */
export const configSchema = z
  .strictObject({
    $schema: z
      .string()
      .exactOptional()
      .meta({ title: 'Schema', description: 'Address of this JSON Schema, for editors; not used.' }),
    dataFolder: madeFolderSchema
      .exactOptional()
      .meta({
        title: 'Data folder',
        description: 'Where keys, logs and state are kept; relative to this file. Mode 0700.',
      }),
    cacheFolder: madeFolderSchema
      .exactOptional()
      .meta({ title: 'Cache folder', description: 'Where downloads are kept; may be deleted at any time.' }),
    site: simpleNameSchema
      .exactOptional()
      .meta({
        title: 'Site',
        description: 'The place whose machines this worker reaches; default unless given.',
      }),
    providers: z
      .record(simpleNameSchema, providerSchema)
      .prefault({})
      .meta({ title: 'Providers', description: 'Provider accounts by the names that clusters use.' }),
    automators: z
      .record(
        pluginNameSchema,
        z
          .strictObject({
            fields: fieldsSchema
              .prefault({})
              .meta({
                title: 'Fields',
                description:
                  'Values for the administrators\' fields of the plugin. Secrets best as references: {secret: "env:NAME"}.',
              }),
          })
          .meta({
            title: 'Automator',
            description: 'What an automator needs to know on this worker: {fields}.',
          }),
      )
      .prefault({})
      .meta({ title: 'Automators', description: 'Settings of automators, by their names.' }),
    plugins: z
      .array(fileSchema)
      .max(100)
      .prefault([])
      .meta({
        title: 'Plugins',
        description:
          'Folders (./plugins) or packages (heddle-plugin-x) that hold providers/ and automators/.',
      }),
    pluginEnvironment: z
      .record(pluginNameSchema, z.array(passedVariableSchema).max(100))
      .prefault({})
      .meta({
        title: 'Plugin environment',
        description:
          'Variables of the worker that plugins that are not built in get besides PATH and LANG, by their names, such as my_cloud: [HTTPS_PROXY].',
      }),
    pluginLimits: z
      .record(pluginNameSchema, pluginLimitsSchema)
      .prefault({})
      .meta({
        title: 'Plugin limits',
        description:
          'What plugins that are not built in may use, by their names; it goes over what they say themselves.',
      }),
    keys: z
      .strictObject({
        folder: madeFolderSchema
          .exactOptional()
          .meta({
            title: 'Folder',
            description: 'Where the keys of payloads are; keys in the data folder unless given.',
          }),
      })
      .prefault({})
      .meta({ title: 'Keys', description: 'Keys that payloads are encrypted with.' }),
    store: storeSchema,
    runFolders: runFoldersSchema,
    scale: z
      .strictObject({
        inlineNodes: z
          .int()
          .min(1)
          .max(200)
          .exactOptional()
          .meta({
            title: 'Inline nodes',
            description: "Nodes that a cluster's workflow carries itself; 50 unless given.",
          }),
        groupNodes: z
          .int()
          .min(1)
          .max(200)
          .exactOptional()
          .meta({
            title: 'Group nodes',
            description: 'Nodes that each further workflow of a cluster carries; 100 unless given.',
          }),
        inFlight: z
          .int()
          .min(1)
          .max(500)
          .exactOptional()
          .meta({
            title: 'In flight',
            description:
              "Tasks of one workflow in flight at once; 100 unless given. Keep it under the server's limit of pending activities.",
          }),
      })
      .exactOptional()
      .meta({
        title: 'Scale',
        description: 'How a large cluster is spread over workflows; read when an operation is planned.',
      }),
    stackTraces: z
      .boolean()
      .default(false)
      .meta({
        title: 'Stack traces',
        description:
          'Whether a worker records where its workflows wait, for the stack traces of the Web UI and of SIGUSR2; false unless given. Workflow tasks take about twice as long with it.',
      }),
    sweep: z
      .strictObject({
        every: durationSchema
          .refine((seconds) => seconds >= 1, { error: 'is less than a second' })
          .exactOptional()
          .meta({
            title: 'Every',
            description: 'Time between two looks for machines that no cluster has; "15m" unless given.',
          }),
        minimumAge: durationSchema
          .exactOptional()
          .meta({
            title: 'Minimum age',
            description:
              'How long such a machine must have been seen before it is deleted; "1h" unless given.',
          }),
        cap: z
          .int()
          .min(1)
          .max(1_000)
          .exactOptional()
          .meta({ title: 'Cap', description: 'Most machines deleted in one pass; 5 unless given.' }),
        delete: z
          .boolean()
          .exactOptional()
          .meta({
            title: 'Delete',
            description: 'Whether they are deleted; unless this is true they are only shown by heddle leaks.',
          }),
      })
      .exactOptional()
      .meta({
        title: 'Sweep',
        description: 'The sweep for machines that no cluster has; the same on all workers.',
      }),
    periodicChecks: z
      .strictObject({
        every: durationSchema
          .refine((seconds) => seconds >= 1, { error: 'is less than a second' })
          .exactOptional()
          .meta({ title: 'Every', description: 'Time between two checks; "5m" unless given.' }),
      })
      .exactOptional()
      .meta({
        title: 'Rounds',
        description:
          'How often machines that are registered, and images, look at themselves; the same on all workers.',
      }),
    secrets: z
      .strictObject({
        allow: z
          .array(
            z
              .string()
              .regex(/^(env|file|exec|vault):/, { error: 'Begins with env:, file:, exec: or vault:.' })
              .refine((pattern) => referencePatternFault(pattern) === undefined, {
                error: ({ input }) => referencePatternFault(String(input)) ?? 'is no pattern',
              }),
          )
          .exactOptional()
          .meta({
            title: 'Allow',
            description:
              'References that cluster files may use, such as "env:APP_*" or "exec:get app/*"; * is any text within a word of a command, but no option. All but exec:, unless given; [] allows none.',
          }),
        environment: z
          .array(
            passedVariableSchema.regex(/^(?!VAULT_)/i, { error: 'Variables of Vault are never passed on.' }),
          )
          .max(100)
          .prefault([])
          .meta({
            title: 'Environment',
            description:
              "Variables of the worker that commands (exec:) in cluster files get besides PATH, HOME and LANG, such as a tool's token.",
          }),
      })
      .exactOptional()
      .meta({ title: 'Secrets', description: 'What may be reached by references in cluster files.' }),
    loadsAtOnce: z
      .int()
      .min(1)
      .max(1_000)
      .default(10)
      .meta({
        title: 'Loads at once',
        description:
          'Images of machines that are written or captured at once in a site; 10 unless given, and the same on all workers of a site.',
      }),
    quarantineAfter: z
      .int()
      .min(0)
      .max(100)
      .default(3)
      .meta({
        title: 'Quarantine after',
        description:
          'Operations in a row that fail until a machine is quarantined; 3 unless given, 0 for never, and the same on all workers.',
      }),
    builder: builderSchema.exactOptional(),
    reservations: z
      .strictObject({
        prepare: durationSchema
          .exactOptional()
          .meta({
            title: 'Prepare',
            description:
              'How long before its time the machines of a reservation are prepared; "15m" unless given.',
          }),
        remind: durationSchema
          .exactOptional()
          .meta({
            title: 'Remind',
            description: 'How long before its end its user is reminded; "10m" unless given.',
          }),
        longest: durationSchema
          .exactOptional()
          .meta({ title: 'Longest', description: 'Longest time of one reservation; "7d" unless given.' }),
        notify: z
          .strictObject({
            url: receiverUrlSchema
              .exactOptional()
              .meta({ title: 'URL', description: 'Gets a POST with JSON for each event.' }),
            insecure: insecureSchema,
            command: commandSchema
              .exactOptional()
              .meta({
                title: 'Command',
                description:
                  'A program and its words, run on a worker; gets JSON on its standard input for each event.',
              }),
          })
          .refine(isProtected, notEncrypted)
          .exactOptional()
          .meta({
            title: 'Notify',
            description:
              'Receivers of notifications about reservations: {url, insecure, command}; none by default.',
          }),
      })
      .exactOptional()
      .meta({
        title: 'Reservations',
        description: 'Reservations of machines; the same on all workers: {prepare, remind, longest, notify}.',
      }),
    webhooks: z
      .record(simpleNameSchema, webhookSchema)
      .prefault({})
      .meta({
        title: 'Webhooks',
        description:
          'Receivers of events of clusters and reservations, by name; the same on all workers that serve heddle/core.',
      }),
    metrics: z
      .strictObject({
        address: metricsAddressSchema.meta({
          title: 'Address',
          description: 'Where workers listen: "127.0.0.1:9464"; each process needs a port of its own.',
        }),
      })
      .exactOptional()
      .meta({
        title: 'Metrics',
        description: 'Numbers about workers and pools, for Prometheus; nowhere unless given.',
      }),
    encryption: z
      .enum(['required', 'optional'])
      .default('required')
      .meta({
        title: 'Encryption',
        description: 'required refuses payloads that came unencrypted; optional reads them.',
      }),
  })
  .meta({
    title: 'Heddle configuration',
    description: "What workers need to know: heddle.yaml. Connection settings are Temporal's own.",
  });

export type WrittenConfig = z.output<typeof configSchema>;
export type WrittenBucket = NonNullable<WrittenConfig['store']['s3']>;
export type WrittenProvider = WrittenConfig['providers'][string];
