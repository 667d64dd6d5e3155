import { z } from 'zod';
import { fieldsSchema } from './any-fields.js';
import { hostKeySchema, secretTextSchema } from './config-accounts.js';
import type { PluginType } from './descriptor.js';
import { durationSchema } from './duration.js';
import { foreignNameSchema } from './names.js';
import { errorAt, placeProblems, type Problem } from './problem.js';
import { readTextFile } from './read-text.js';
import { readYamlFile } from './yaml-source.js';
import { problemsFromZod } from './zod-problems.js';

const fieldNameSchema = z.string().regex(/^[A-Za-z][\w-]*$/, { error: 'Name of a field.' });
const every = (title: string, description: string) =>
  z.int().min(2).max(1_000_000).exactOptional().meta({ title, description });
const pageSizeSchema = z.int().min(1).max(1_000);

const cloudSchema = z.strictObject({
  apiKey: fieldNameSchema
    .default('apiKey')
    .meta({ title: 'API key', description: "The administrator's field that gets the cloud's API key." }),
  pageSize: pageSizeSchema
    .default(2)
    .meta({ title: 'Page size', description: 'Most machines in one answer of a list.' }),
  lag: durationSchema
    .exactOptional()
    .meta({
      title: 'Lag',
      description: 'Time during which lists and descriptions omit a new machine. Default: none.',
    }),
});

const accountSchema = z.strictObject({
  admin: fieldsSchema.meta({ title: 'Admin', description: "The administrator's fields of the account." }),
  user: fieldsSchema
    .exactOptional()
    .meta({ title: 'User', description: "The user's fields, as in a cluster file." }),
  flavor: foreignNameSchema.meta({ title: 'Flavor', description: "Size, by the provider's own name." }),
  image: foreignNameSchema.meta({ title: 'Image', description: "Image, by the provider's own name." }),
  pageSize: pageSizeSchema
    .exactOptional()
    .meta({
      title: 'Page size',
      description: 'Most machines in one answer of a list. Default: lists have no pages.',
    }),
  silent: fieldsSchema
    .exactOptional()
    .meta({
      title: 'Silent',
      description:
        "For a provider without endpoint: the administrator's fields of an API that does not answer.",
    }),
  upload: z
    .strictObject({
      file: z.string().min(1).meta({ title: 'File', description: 'Path, relative to this file.' }),
      format: z.string().min(1).meta({ title: 'Format', description: 'Such as qcow2.' }),
    })
    .exactOptional()
    .meta({ title: 'Upload', description: 'For a provider that takes images as files: a small one.' }),
});

const nodeSchema = z.strictObject({
  host: z.string().min(1).meta({ title: 'Host', description: 'Name or address.' }),
  port: z.int().min(1).max(65_535).default(22).meta({ title: 'Port', description: 'SSH port.' }),
  user: z.string().min(1).meta({ title: 'User', description: 'Login name.' }),
  password: secretTextSchema
    .exactOptional()
    .meta({ title: 'Password', description: 'Password, or a reference such as {secret: "env:NAME"}.' }),
  privateKey: secretTextSchema
    .exactOptional()
    .meta({ title: 'Private key', description: 'A reference such as {secret: "file:id_ed25519"}.' }),
  hostKey: hostKeySchema.meta({
    title: 'Host key',
    description: 'Public key of its SSH server: "ssh-ed25519 AAAA…".',
  }),
});

/** The settings of `heddle plugins test`, in NAME.suite.yaml beside the descriptor. */
export const pluginSuiteSchema = z
  .strictObject({
    $schema: z.string().exactOptional().meta({ title: 'Schema', description: 'For editors.' }),
    endpoint: fieldNameSchema
      .exactOptional()
      .meta({
        title: 'Endpoint',
        description:
          "Providers: the administrator's field with the address of the HTTP API. The suite puts a proxy there and lets calls fail. Default with cloud: endpoint.",
      }),
    cloud: cloudSchema
      .exactOptional()
      .meta({
        title: 'Cloud',
        description:
          'Providers: a machine service for the time of the test, whose API the plugin speaks. Without it, account is required.',
      }),
    account: accountSchema
      .exactOptional()
      .meta({
        title: 'Account',
        description: 'Providers: an account in which the suite may create and delete machines.',
      }),
    flaky: z
      .strictObject({
        refuseEvery: every(
          'Refuse every',
          'Every how many calls the API refuses one, with 429 and 503 in turn. Default: none.',
        ),
        loseEvery: every(
          'Lose every',
          'Every how many calls the API carries one out and loses the answer. Default: none.',
        ),
      })
      .exactOptional()
      .meta({ title: 'Flaky', description: 'Providers: how often the API behind endpoint fails by itself.' }),
    machines: z
      .array(z.enum(['power', 'load', 'capture', 'retrieve', 'unload', 'reach']))
      .exactOptional()
      .meta({ title: 'Machines', description: 'Providers: what the plugin does with existing machines.' }),
    consistencyWindow: durationSchema
      .exactOptional()
      .meta({
        title: 'Consistency window',
        description:
          "Providers: time until the account's API shows a change. Default: consistencyWindowMs of the descriptor.",
      }),
    action: fieldsSchema
      .exactOptional()
      .meta({
        title: 'Action',
        description:
          'Automators: fields of an action that runs a shell script with data on its standard input. In texts, {{script}} and {{data}} stand for them, {{json script}} for a quoted text. Default: the fields script and data.',
      }),
    admin: fieldsSchema
      .exactOptional()
      .meta({ title: 'Admin', description: "Automators: the administrator's fields." }),
    node: nodeSchema
      .exactOptional()
      .meta({
        title: 'Node',
        description: 'Automators: a node that has what the plugin needs. Default: one of a machine service.',
      }),
    accounts: z
      .boolean()
      .exactOptional()
      .meta({
        title: 'Accounts',
        description: 'Automators: whether the plugin creates accounts. The node must be a whole system.',
      }),
    system: z
      .boolean()
      .exactOptional()
      .meta({
        title: 'System',
        description:
          'Automators: whether the plugin has methods for loading and capturing. The node must be a whole system.',
      }),
    patience: durationSchema
      .exactOptional()
      .meta({ title: 'Patience', description: 'Timeout for each event that a case waits for. Default: 2m.' }),
    without: z
      .record(z.string(), z.string())
      .exactOptional()
      .meta({ title: 'Without', description: 'Cases that are left out, each with its reason in words.' }),
  })
  .meta({ title: 'Heddle plugin suite', description: 'What heddle plugins test needs to test a plugin.' });

export type PluginSuite = z.output<typeof pluginSuiteSchema>;

const keysOfType: Readonly<Record<PluginType, readonly (keyof PluginSuite)[]>> = {
  provider: ['endpoint', 'cloud', 'account', 'flaky', 'machines', 'consistencyWindow'],
  automator: ['action', 'admin', 'node', 'accounts', 'system'],
};

export type PluginSuiteReading =
  | { readonly ok: true; readonly suite: PluginSuite }
  | { readonly ok: false; readonly problems: readonly Problem[] };

const maxBytes = 256 * 1024;

/** Reads the settings of a suite for a plugin of this type. */
export function readPluginSuite(file: string, type: PluginType): PluginSuiteReading {
  const read = readTextFile(file, maxBytes);
  const top = { file, line: 1, column: 1 };
  if (!read.ok)
    return {
      ok: false,
      problems: [{ ...errorAt([], `cannot read the settings: ${read.wrong}`), place: top }],
    };
  const source = readYamlFile(read.text, file, { bytes: maxBytes, depth: 32 });
  if (!source.ok) return source;
  const { value, locate } = source;
  const parsed = pluginSuiteSchema.safeParse(value);
  const problems = parsed.success
    ? checkSuite(parsed.data, type)
    : problemsFromZod(pluginSuiteSchema, parsed.error, value);
  if (parsed.success && problems.length === 0) return { ok: true, suite: parsed.data };
  return { ok: false, problems: placeProblems(problems, locate) };
}

function checkSuite(suite: PluginSuite, type: PluginType): readonly Problem[] {
  const other = type === 'provider' ? 'automator' : 'provider';
  const wrong = keysOfType[other]
    .filter((key) => suite[key] !== undefined)
    .map((key) =>
      errorAt([key], `applies only to ${other}s, but the plugin is of type ${type}`, 'Remove it.'),
    );
  if (type === 'automator') return wrong;
  const { cloud, account, flaky, endpoint } = suite;
  return [
    ...wrong,
    ...(cloud === undefined && account === undefined
      ? [errorAt([], 'has neither cloud nor account', 'Set one: what the plugin creates machines in.')]
      : []),
    ...(cloud !== undefined && account !== undefined
      ? [errorAt(['cloud'], 'cannot be combined with account', 'Remove one of them.')]
      : []),
    ...(flaky !== undefined && endpoint === undefined && cloud === undefined
      ? [errorAt(['flaky'], 'requires endpoint', "Set it to the field with the API's address.")]
      : []),
  ];
}
