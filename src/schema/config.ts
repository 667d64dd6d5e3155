import { z } from 'zod';
import { defaultLimits } from '../model/cluster/limits.js';
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
import { section } from './section.js';
import { insecureSchema, isProtected, notEncrypted, receiverUrlSchema, webhookSchema } from './webhook.js';

/** A numeric address, because a process listens on it. */
export const metricsAddressSchema = z
  .string()
  .regex(/^(\d{1,3}(\.\d{1,3}){3}|\[[0-9a-fA-F:]+\]):[1-9]\d{0,4}$/, {
    error: 'An address and a port, such as 127.0.0.1:9464.',
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
        description: 'Folder of keys, logs and state, relative to this file; created with mode 0700.',
      }),
    cacheFolder: madeFolderSchema
      .exactOptional()
      .meta({ title: 'Cache folder', description: 'Folder of downloads; can be deleted at any time.' }),
    site: simpleNameSchema
      .exactOptional()
      .meta({
        title: 'Site',
        default: 'default',
        description: 'The location whose machines this worker reaches.',
      }),
    providers: z
      .record(simpleNameSchema, providerSchema)
      .prefault({})
      .meta({ title: 'Providers', description: 'Provider accounts, by the names that clusters use.' }),
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
                  'Values for the administrators\' fields of the plugin. Prefer references for secrets: {secret: "env:NAME"}.',
              }),
          })
          .meta({ title: 'Automator', description: 'Settings of an automator on this worker: {fields}.' }),
      )
      .prefault({})
      .meta({ title: 'Automators', description: 'Settings of automators, by name.' }),
    plugins: z
      .array(fileSchema)
      .max(100)
      .prefault([])
      .meta({
        title: 'Plugins',
        description:
          'Folders (./plugins) or npm packages (heddle-plugin-x) that contain providers/ and automators/.',
      }),
    pluginEnvironment: z
      .record(pluginNameSchema, z.array(passedVariableSchema).max(100))
      .prefault({})
      .meta({
        title: 'Plugin environment',
        description:
          'Environment variables of the worker that are passed to external plugins in addition to PATH and LANG, by plugin: {my_cloud: [HTTPS_PROXY]}.',
      }),
    pluginLimits: z
      .record(pluginNameSchema, pluginLimitsSchema)
      .prefault({})
      .meta({
        title: 'Plugin limits',
        description:
          'Resource limits of external plugins, by plugin; they override the limits in the descriptors.',
      }),
    keys: z
      .strictObject({
        folder: madeFolderSchema
          .exactOptional()
          .meta({
            title: 'Folder',
            description: 'Folder of the payload keys. Default: keys in the data folder.',
          }),
      })
      .prefault({})
      .meta({ title: 'Keys', description: 'Keys that payloads are encrypted with.' }),
    store: storeSchema,
    runFolders: runFoldersSchema,
    scale: section(
      z.strictObject({
        inlineNodes: z
          .int()
          .min(1)
          .max(200)
          .default(defaultLimits.inlineNodes)
          .meta({
            title: 'Inline nodes',
            description: "Maximum number of nodes that a cluster's own workflow runs.",
          }),
        groupNodes: z
          .int()
          .min(1)
          .max(200)
          .default(defaultLimits.groupNodes)
          .meta({
            title: 'Group nodes',
            description: 'Maximum number of nodes that each further workflow of a cluster runs.',
          }),
        inFlight: z
          .int()
          .min(1)
          .max(500)
          .default(defaultLimits.inFlight)
          .meta({
            title: 'In flight',
            description:
              "Maximum number of concurrent tasks of one workflow. Keep it below the server's limit of pending activities.",
          }),
      }),
    ).meta({
      title: 'Scale',
      description: 'How a large cluster is split into workflows; applied when an operation is planned.',
    }),
    stackTraces: z
      .boolean()
      .default(false)
      .meta({
        title: 'Stack traces',
        description:
          'Whether a worker records where its workflows wait, for stack traces in the Web UI and on SIGUSR2. Doubles the duration of workflow tasks.',
      }),
    sweep: section(
      z.strictObject({
        every: durationSchema
          .refine((seconds) => seconds >= 1, { error: 'is less than a second' })
          .default(15 * 60)
          .meta({ title: 'Every', description: 'Interval between sweeps, such as "15m".' }),
        minimumAge: durationSchema
          .default(60 * 60)
          .meta({
            title: 'Minimum age',
            description:
              'Minimum time between the first observation of an orphaned machine and its deletion, such as "1h".',
          }),
        cap: z
          .int()
          .min(1)
          .max(1_000)
          .default(5)
          .meta({ title: 'Cap', description: 'Maximum number of machines deleted in one sweep.' }),
        delete: z
          .boolean()
          .default(false)
          .meta({
            title: 'Delete',
            description: 'Whether sweeps delete orphaned machines. If false, heddle leaks only lists them.',
          }),
      }),
    ).meta({
      title: 'Sweep',
      description: 'The periodic search for orphaned machines. Must be equal on all workers.',
    }),
    periodicChecks: section(
      z.strictObject({
        every: durationSchema
          .refine((seconds) => seconds >= 1, { error: 'is less than a second' })
          .default(5 * 60)
          .meta({ title: 'Every', description: 'Interval between checks, such as "5m".' }),
      }),
    ).meta({
      title: 'Periodic checks',
      description: 'How often registered machines and images are checked. Must be equal on all workers.',
    }),
    secrets: section(
      z.strictObject({
        allow: z
          .array(
            z
              .string()
              .regex(/^(env|file|exec|vault):/, { error: 'Must begin with env:, file:, exec: or vault:.' })
              .refine((pattern) => referencePatternFault(pattern) === undefined, {
                error: ({ input }) => referencePatternFault(String(input)) ?? 'is not a valid pattern',
              }),
          )
          .exactOptional()
          .meta({
            title: 'Allow',
            description:
              'References that cluster files may use, such as "env:APP_*" or "exec:get app/*". * matches any text within a word of a command, but never an option. Default: all references except exec:. [] allows none.',
          }),
        environment: z
          .array(
            passedVariableSchema.regex(/^(?!VAULT_)/i, { error: 'VAULT_ variables are never passed on.' }),
          )
          .max(100)
          .prefault([])
          .meta({
            title: 'Environment',
            description:
              'Environment variables of the worker that are passed to exec: commands of cluster files in addition to PATH, HOME and LANG.',
          }),
      }),
    ).meta({ title: 'Secrets', description: 'What references in cluster files may access.' }),
    loadsAtOnce: z
      .int()
      .min(1)
      .max(1_000)
      .default(10)
      .meta({
        title: 'Loads at once',
        description:
          'Maximum number of concurrent loads and captures of machines in a site. Must be equal on all workers of a site.',
      }),
    quarantineAfter: z
      .int()
      .min(0)
      .max(100)
      .default(3)
      .meta({
        title: 'Quarantine after',
        description:
          'Number of consecutive failed operations after which a machine is quarantined; 0 for never. Must be equal on all workers.',
      }),
    builder: builderSchema,
    reservations: section(
      z.strictObject({
        prepare: durationSchema
          .default(15 * 60)
          .meta({
            title: 'Prepare',
            description: 'How long before a reservation starts its machines are prepared, such as "15m".',
          }),
        remind: durationSchema
          .default(10 * 60)
          .meta({
            title: 'Remind',
            description: 'How long before a reservation ends its user is reminded, such as "10m".',
          }),
        longest: durationSchema
          .default(7 * 86_400)
          .meta({ title: 'Longest', description: 'Maximum duration of a reservation, such as "7d".' }),
        notify: z
          .strictObject({
            url: receiverUrlSchema
              .exactOptional()
              .meta({ title: 'URL', description: 'Receives a POST request with JSON for each event.' }),
            insecure: insecureSchema,
            command: commandSchema
              .exactOptional()
              .meta({
                title: 'Command',
                description:
                  'A program and its arguments, run on a worker for each event, with JSON on standard input.',
              }),
          })
          .refine(isProtected, notEncrypted)
          .exactOptional()
          .meta({
            title: 'Notify',
            description:
              'Receivers of notifications about reservations: {url, insecure, command}. Default: none.',
          }),
      }),
    ).meta({
      title: 'Reservations',
      description:
        'Reservations of machines: {prepare, remind, longest, notify}. Must be equal on all workers.',
    }),
    webhooks: z
      .record(simpleNameSchema, webhookSchema)
      .prefault({})
      .meta({
        title: 'Webhooks',
        description:
          'Receivers of events of clusters and reservations, by name. Must be equal on all workers that serve heddle/core.',
      }),
    metrics: z
      .strictObject({
        address: metricsAddressSchema.meta({
          title: 'Address',
          description: 'Address to listen on, such as "127.0.0.1:9464". Each process needs its own port.',
        }),
      })
      .exactOptional()
      .meta({
        title: 'Metrics',
        description: 'Prometheus metrics of workers and pools. Default: no metrics endpoint.',
      }),
    encryption: z
      .enum(['required', 'optional'])
      .default('required')
      .meta({
        title: 'Encryption',
        description: 'required refuses unencrypted payloads; optional accepts them.',
      }),
  })
  .meta({
    title: 'Heddle configuration',
    description:
      'Settings of workers: heddle.yaml. The connection to Temporal is configured by temporal.toml and TEMPORAL_ variables.',
  });

/** heddle.yaml with defaults; durations in seconds. It is a valid heddle.yaml itself. */
export type Settings = z.output<typeof configSchema>;

/** Settings that a worker reads only when it starts. It applies changes of the others while it runs. */
export const restartSettings: readonly (keyof Settings)[] = [
  'dataFolder',
  'cacheFolder',
  'site',
  'plugins',
  'pluginEnvironment',
  'pluginLimits',
  'keys',
  'store',
  'encryption',
  'stackTraces',
  'builder',
  'metrics',
];
