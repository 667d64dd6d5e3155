import { dirname, relative, resolve } from 'node:path';
import type { Config } from '../../config/index.js';
import { isJsonObject, type Json, type JsonObject } from '../../model/json.js';
import { ownPaths } from '../../config/own-files.js';
import type { FoundPlugin } from '../../plugins/find-plugins.js';
import { resolveInside } from '../../plugins/plugin-files.js';
import { pathsIn } from '../../schema/named-files.js';
import type { PluginSuite } from '../../schema/plugin-suite.js';
import { formatPath } from '../../schema/problem.js';
import { allowReferences } from '../../secrets/allowed.js';
import { forbiddenReferences, type ReferenceWriter } from '../../secrets/reference.js';
import { resolveFields } from '../../secrets/resolve-fields.js';
import { createAutomatorSuite } from '../../testing/automator-suite.js';
import type { SuiteNode } from '../../testing/cuttable-node.js';
import { startFakeCloud, startFlakyApi } from '../../testing/fake-cloud.js';
import type { SuiteAccount } from '../../testing/provider-options.js';
import { createProviderSuite } from '../../testing/provider-suite.js';
import type { Suite } from '../../testing/runner.js';
import type { Surroundings } from '../../testing/surroundings.js';
import { CliError } from '../errors.js';

/** Settings of a suite, and their file; undefined: no file. */
export interface SuiteSettings {
  readonly suite: PluginSuite;
  readonly file: string | undefined;
  /** `plugin`: the file lies in the plugin's folder, and only its author chose what it says. */
  readonly chosenBy: 'user' | 'plugin';
}

/** The suite for a plugin with these settings. @throws CliError if they do not suffice */
export function suiteOf(plugin: FoundPlugin, settings: SuiteSettings, config: Config): Suite {
  const { environment, programs } = config;
  const surroundings: Surroundings = { environment, programs, writer: writerOf(settings, config) };
  refuseForbidden(plugin, settings, surroundings);
  try {
    return plugin.descriptor.type === 'provider'
      ? createProviderSuite(providerOptions(plugin, settings), surroundings)
      : createAutomatorSuite(automatorOptions(plugin, settings, surroundings), surroundings);
  } catch (error) {
    if (error instanceof CliError || !(error instanceof Error)) throw error;
    throw new CliError('Invalid', `${settings.file ?? plugin.folder}: ${error.message}`, { cause: error });
  }
}

/** Settings of the plugin's own author may use only secrets that heddle.yaml lists. */
function writerOf({ chosenBy }: SuiteSettings, config: Config): ReferenceWriter {
  if (chosenBy === 'user') return { writtenBy: 'administrator' };
  const named = config.namedFiles.flatMap((file) => pathsIn(file.kind, file.named));
  const reserved = [...config.references, ...named.map((path) => `file:${path}`)];
  return {
    writtenBy: 'user',
    allows: allowReferences(config.secrets.allow ?? [], ownPaths(config), reserved),
  };
}

/** @throws CliError for a secret or file that the plugin's own settings may not use */
function refuseForbidden(
  plugin: FoundPlugin,
  { suite, file = '' }: SuiteSettings,
  { writer }: Surroundings,
): void {
  if (writer.writtenBy === 'administrator') return;
  const next = `heddle plugins test ${plugin.descriptor.name} --settings ${file}`;
  const [path] = forbiddenReferences(suite, writer.allows);
  if (path !== undefined)
    throw new CliError(
      'Invalid',
      `${file}: ${formatPath(path)} refers to a secret, and the file is the plugin's own`,
      { remedy: 'read the file, and name it with --settings if the plugin may get this secret', next },
    );
  const upload = suite.account?.upload?.file;
  if (upload === undefined || isInFolder(plugin.folder, upload)) return;
  throw new CliError(
    'Invalid',
    `${file}: account.upload.file is outside the plugin's folder, or does not exist`,
    { remedy: 'read the file, and name it with --settings if the plugin may get this file', next },
  );
}

function isInFolder(folder: string, file: string): boolean {
  try {
    // The file may be absolute, as when it is opened.
    resolveInside(folder, relative(folder, resolve(folder, file)));
    return true;
  } catch {
    return false;
  }
}

function providerOptions(
  { descriptor, root }: FoundPlugin,
  { suite, file }: SuiteSettings,
): Parameters<typeof createProviderSuite>[0] {
  const { cloud, account, machines, without, consistencyWindow } = suite;
  const endpoint = suite.endpoint ?? (cloud === undefined ? undefined : 'endpoint');
  return {
    name: descriptor.name,
    folders: [root],
    endpoint,
    machines,
    without,
    ...(account?.upload === undefined ? {} : { uploads: true }),
    ...patienceOf(suite),
    ...(consistencyWindow === undefined ? {} : { consistencyWindowMs: consistencyWindow * 1_000 }),
    open: () =>
      account === undefined ? openCloud(suite, endpoint ?? '') : openAccount(suite, endpoint, file),
  };
}

function patienceOf({ patience }: PluginSuite): { readonly patienceMs?: number } {
  return patience === undefined ? {} : { patienceMs: patience * 1_000 };
}

async function openCloud({ cloud, flaky }: PluginSuite, endpoint: string): Promise<SuiteAccount> {
  const { apiKey = '', pageSize, lag = 0 } = cloud ?? {};
  const fake = await startFakeCloud({ pageSize, lagMs: lag * 1_000, ...flaky });
  return {
    ...fake,
    admin: { [endpoint]: fake.endpoint, [apiKey]: fake.apiKey },
    flavor: 'tiny',
    image: 'host',
  };
}

/** An account of the author. Its API is made flaky on the way. */
async function openAccount(
  { account, flaky }: PluginSuite,
  endpoint: string | undefined,
  file = '.',
): Promise<SuiteAccount> {
  const { admin = {}, flavor = '', image = '', upload, ...others } = account ?? {};
  const given: SuiteAccount = {
    ...others,
    admin,
    flavor,
    image,
    ...(upload === undefined ? {} : { upload: { ...upload, file: resolve(dirname(file), upload.file) } }),
  };
  const address = endpoint === undefined ? undefined : admin[endpoint];
  if (flaky === undefined || endpoint === undefined || typeof address !== 'string') return given;
  const api = await startFlakyApi(address, flaky);
  return {
    ...given,
    admin: { ...admin, [endpoint]: api.endpoint },
    calm: api.calm,
    close: () => api.close(),
  };
}

function automatorOptions(
  { descriptor, root }: FoundPlugin,
  { suite, file }: SuiteSettings,
  { environment, writer }: Surroundings,
): Parameters<typeof createAutomatorSuite>[0] {
  const { admin, node, accounts, system, without } = suite;
  const action = suite.action ?? usualAction(descriptor);
  return {
    name: descriptor.name,
    folders: [root],
    script: (script, data) => fill(action, { script, data }),
    ...(admin === undefined ? {} : { admin }),
    ...(accounts === undefined ? {} : { accounts }),
    ...(system === undefined ? {} : { system }),
    ...(without === undefined ? {} : { without }),
    ...patienceOf(suite),
    ...(node === undefined
      ? {}
      : {
          open: async () => {
            const { password, privateKey, ...target } = node;
            const login: JsonObject = {
              ...(password === undefined ? {} : { password }),
              ...(privateKey === undefined ? {} : { privateKey }),
            };
            const { fields } = await resolveFields(
              login,
              { environment },
              { ...writer, place: `${file ?? '-'}: node`, reader: 'this computer' },
            );
            return { ...target, ...fields } satisfies SuiteNode;
          },
        }),
  };
}

/** Of automators whose actions run a script. @throws CliError for others */
function usualAction({ name, fields }: FoundPlugin['descriptor']): JsonObject {
  if (fields !== undefined && !Object.hasOwn(fields.user, 'script'))
    throw new CliError(
      'Invalid',
      `the actions of automator ${name} have no field script, so the settings of its suite need action: ` +
        'its fields for an action that runs a shell script, such as action: {play: "- shell: {{json script}}"}',
    );
  const hasData = fields === undefined || Object.hasOwn(fields.user, 'data');
  return { script: '{{script}}', ...(hasData ? { data: '{{data}}' } : {}) };
}

/** Puts the suite's script and data into the texts of an action. */
function fill<Value extends Json>(value: Value, texts: Readonly<Record<'script' | 'data', string>>): Value;
function fill(value: Json, texts: Readonly<Record<'script' | 'data', string>>): Json {
  if (typeof value === 'string')
    return value.replaceAll(/\{\{(json )?(script|data)\}\}/g, (_, json: string | undefined, name: string) => {
      const text = name === 'script' ? texts.script : texts.data;
      return json === undefined ? text : JSON.stringify(text);
    });
  if (Array.isArray(value)) return value.map((item: Json) => fill(item, texts));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fill(item, texts)]));
}
