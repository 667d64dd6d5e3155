import { z } from 'zod';
import type { JsonObject } from '../../model/json.js';
import { count, moment, opaque, texts, type View } from './exact.js';

const policySchema = z.object({
  minimumAgeMs: z.number(),
  cap: count.describe('Maximum number of machines deleted in one sweep.'),
  delete: z.boolean().describe('Whether sweeps delete machines without a request.'),
});

export type SweepPolicy = View<typeof policySchema>;

const leakSchema = z
  .object({
    kind: z.enum(['orphan', 'lost', 'unknown', 'abandoned', 'duplicate', 'unreadable', 'captured']),
    what: z.literal('image').optional().describe('Absent for machines.'),
    providerid: z.string(),
    key: z.string(),
    cluster: z.string().optional(),
    askedOf: z.string().optional().describe('The workflow that disowned it.'),
    state: z.string(),
    createdAt: moment.optional(),
    account: z.string(),
    firstSeen: moment,
    passes: count.describe('Number of consecutive sweeps that found it.'),
  })
  .meta({ id: 'leak' });

/** A suspect that sweeps have found. */
export type Leak = View<typeof leakSchema>;

const reportSchema = z
  .object({
    reportVersion: z.literal(1),
    at: moment,
    policy: policySchema,
    accounts: z.array(
      z.object({
        name: z.string(),
        machines: count,
        leaks: count,
        unable: z.string().optional().describe('Why it could not be listed.'),
      }),
    ),
    leaks: z.array(leakSchema),
    deleted: z.array(
      z.object({
        account: z.string(),
        providerid: z.string(),
        key: z.string(),
        failed: z.string().optional(),
      }),
    ),
    refused: texts.describe('Why nothing was deleted.'),
    silent: texts.optional().describe('Clusters that did not answer; their machines are kept.'),
    unknown: z
      .array(z.object({ uid: z.string(), cluster: z.string().optional(), machines: count }))
      .optional()
      .describe('Clusters that the keys of machines name and that the database does not contain.'),
    stopped: z
      .object({ at: moment, why: z.string() })
      .optional()
      .describe('Why nothing is deleted until `heddle leaks --resume`.'),
  })
  .meta({ id: 'sweep' });

/** The result of a sweep. */
export type SweepReport = View<typeof reportSchema>;

const process = z.object({ pid: count, started: z.string() });
const fields = opaque<JsonObject>('Without secrets.');
const accountSchema = z.object({ type: z.string(), site: z.string(), fields });
const pluginSchema = opaque<JsonObject>(
  'The descriptor of the plugin (schemas/plugin.schema.json), with digest, folder and abilities.',
);
const keySchema = z.object({
  id: z.string(),
  createdAt: moment,
  current: z.boolean().describe('Whether this key encrypts new payloads.'),
});
const keys = z.array(keySchema);
const keyUses = z
  .object({
    open: texts.describe(
      'Running workflows that need the key according to their memos and their first and newest events. Others may need it too.',
    ),
    ended: count.describe('Always 0 in a list: closed runs are searched only when a key is removed.'),
    schedules: texts,
    workers: texts.describe('Workers that encrypt with the key.'),
  })
  .describe(
    'Known uses of the key. An empty result does not prove that the key is unused: only remove reads whole histories.',
  );
const jsonSchema = opaque<JsonObject>('A JSON Schema.').optional();
const pluginFieldsMembers = {
  type: z.enum(['provider', 'automator']),
  name: z.string(),
  admin: jsonSchema,
  user: jsonSchema,
};

const historySchema = z.object({
  workflowId: z.string(),
  runId: z.string(),
  workflowType: z.string().optional(),
  source: z.string().optional(),
  events: count,
  ok: z.boolean(),
  error: z
    .object({
      kind: z.enum(['nondeterminism', 'failure', 'unknown-type', 'undecryptable', 'not-a-history']),
      message: z.string(),
      event: z.object({ id: count, type: z.string(), about: z.string().optional() }).optional(),
      detail: z.string().optional(),
    })
    .optional(),
});

const recoverSchema = z.object({
  recovered: z.array(
    z.object({
      workflowId: z.string(),
      runId: z.string().describe('ID of the new run.'),
      event: count.describe('The event that the workflow was reset to.'),
      discarded: count.describe('Number of discarded events after it.'),
    }),
  ),
  left: z
    .array(z.object({ workflowId: z.string(), why: z.string() }))
    .describe('Workflows that are still stuck.'),
});

export const systemDocuments = {
  config: [
    z.object({
      file: z.string().nullable(),
      devWorkerConfig: z.string().optional(),
      dataFolder: z.string(),
      cacheFolder: z.string(),
      keyFolder: z.string(),
      storeFolder: z.string(),
      'store.s3': z.string().optional().describe('Bucket and endpoint.'),
      site: z.string(),
      encryption: z.string(),
      'temporal.address': z.string(),
      'temporal.namespace': z.string(),
      pluginFolders: texts,
      providers: z.record(z.string(), z.object({ ...accountSchema.shape, hostKeys: z.unknown().optional() })),
      origins: z.record(z.string(), z.string()).describe('Where each setting comes from.'),
    }),
  ],
  dev: [
    z.object({
      ready: z.literal(true),
      address: z.string(),
      namespace: z.string(),
      ui: z.string(),
      codecEndpoint: z.string().describe('Holds a token.'),
      accounts: z.string().describe('Holds a token.'),
      machines: z.object({ endpoint: z.string(), apiKeyFile: z.string() }),
      workerConfig: z.string(),
      processes: z.object({ server: process, machines: process, worker: process }),
    }),
  ],
  doctor: [
    z.object({
      ok: z
        .boolean()
        .describe('Whether the exit code is 0: no check failed and, without `--severity fail`, none warned.'),
      checks: z.array(
        z.object({
          check: z.string(),
          state: z.enum(['ok', 'warn', 'fail', 'skipped']),
          text: z.string(),
          next: z.string().optional(),
        }),
      ),
    }),
  ],
  keys: [
    z
      .object({
        from: z.string(),
        namespace: z.string().optional().describe('Absent if no server answers.'),
        keys: z.array(keySchema.extend({ uses: keyUses.optional() })),
      })
      .describe('Result of list.'),
    z
      .object({ folder: z.string(), removed: z.string().describe('ID of the key.') })
      .describe('Result of remove.'),
    z.object({ folder: z.string(), keys }).describe('Result of create and rotate.'),
    z
      .object({ folder: z.string(), imported: texts.describe('IDs of the keys.') })
      .describe('Result of import.'),
    z.object({ file: z.string() }).describe('Result of export to a file.'),
  ],
  leaks: [
    z.object({
      report: reportSchema.optional().describe('Absent before the first sweep.'),
      schedule: z.object({
        everyMs: z.number(),
        policy: policySchema,
        paused: z.string().optional(),
        next: moment.optional(),
        running: z.boolean(),
        resumed: z
          .object({ at: moment, by: z.string(), uids: texts })
          .optional()
          .describe('When a user last resumed deletion by sweeps, and the unknown clusters at that time.'),
      }),
    }),
    z
      .object({
        deleted: texts,
        left: z.array(z.object({ providerid: z.string(), why: z.string() })),
        report: reportSchema,
      })
      .describe('With --delete.'),
  ],
  plugins: [
    z.object({ plugins: z.array(pluginSchema) }),
    z.object(pluginFieldsMembers).describe('With --schema.'),
    z
      .object({ schemas: z.array(z.object(pluginFieldsMembers)) })
      .describe('With --schema, if plugins of both types have the name.'),
  ],
  'plugin-cloud': [
    z
      .object({
        endpoint: z.string(),
        apiKey: z.string(),
        flavor: z.string(),
        image: z.string(),
        pid: count.describe('SIGTERM ends it.'),
      })
      .describe('Written when the cloud answers.'),
  ],
  'plugin-new': [z.object({ type: z.enum(['provider', 'automator']), name: z.string(), files: texts })],
  'plugin-setup': [
    z.object({
      plugin: z.string(),
      folder: z.string().describe('The Python environment.'),
      packages: texts,
      changed: z.boolean().describe('Whether it was created; otherwise it was already complete.'),
    }),
  ],
  'plugin-test': [
    z.object({
      plugin: z.string(),
      type: z.enum(['provider', 'automator']),
      folder: z.string(),
      digest: z.string(),
      settings: z.string().optional().describe('The file with the settings of the suite.'),
      cases: z.array(
        z.object({
          id: z.string(),
          title: z.string().describe('What the plugin must do.'),
          outcome: z.enum(['passed', 'failed', 'skipped']),
          why: z.string().optional().describe('Why it failed or was skipped.'),
          rules: z
            .array(z.object({ name: z.string(), text: z.string() }))
            .describe('Rules of the contract that the case tests.'),
          ms: count,
        }),
      ),
      passed: count,
      failed: count,
      skipped: count,
    }),
  ],
  'provider-add': [
    z.object({
      provider: z.string(),
      type: z.string(),
      site: z.string().optional(),
      file: z.string(),
      fields,
      stored: texts.describe('Files that store its secrets.'),
    }),
  ],
  'provider-test': [
    z.object({ provider: z.string(), works: z.boolean(), says: z.string().describe('The result, as text.') }),
  ],
  'provider-remove': [z.object({ provider: z.string(), file: z.string(), removed: texts })],
  providers: [
    z.object({
      file: z.string(),
      providers: z.array(z.object({ name: z.string(), ...accountSchema.shape, from: z.string() })),
    }),
  ],
  recover: [recoverSchema],
  replay: [
    z.object({
      histories: z.array(historySchema),
      total: count,
      ok: count,
      failed: count,
      next: z.string().optional(),
    }),
  ],
  'server-setup': [
    z.object({
      address: z.string(),
      namespace: z.string(),
      serverVersion: z.string(),
      searchAttributes: texts,
    }),
  ],
};

export type RecoverDocument = z.infer<typeof recoverSchema>;
