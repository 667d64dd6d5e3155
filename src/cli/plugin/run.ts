import { createHash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { serviceActions, type Action, type AnyAction } from '../../model/action.js';
import { isJsonObject, type Json, type JsonObject } from '../../model/json.js';
import { machineKey, tagNames, taskId } from '../../model/names.js';
import type { Config } from '../../config.js';
import type { Automator, NodeAddress, PluginContext, Task, TaskResult } from '../../plugins/contract.js';
import { isPluginError } from '../../plugins/errors.js';
import { loadRegistry, type ProviderWithAbilities } from '../../plugins/registry.js';
import { createRedactor } from '../../secrets/redact.js';
import { resolveSecrets } from '../../secrets/reference.js';
import { createPool } from '../../ssh/pool.js';
import { createShell } from '../../ssh/shell.js';
import { CliError } from '../cli-error.js';
import { readConfiguration, type CommonOptions } from '../configuration.js';
import { exitCodes } from '../exit-codes.js';
import { authOf, readTarget } from '../look/ssh-target.js';

const providerActions = ['CREATE', 'CONFIRM', 'DELETE'] as const;
const automatorActions = ['BOOTSTRAP', ...serviceActions] as const;

/**
 * Carries out one task by one plugin, here and once: to try a plugin by hand. Standard output gets the result as JSON, standard
 * error the log. What the engine does besides (retries, waiting, looking whether SSH answers) is not done.
 */
export async function runTask(name: string, file: string, options: CommonOptions): Promise<number> {
  const config = readConfiguration(options);
  const written = readTask(file);
  const registry = await loadRegistry({ folders: config.pluginFolders, programs: config.programs, log: { info: () => undefined } });
  const cancel = new AbortController();
  const stop = (): void => cancel.abort(new Error('interrupted'));
  process.once('SIGINT', stop);
  const pool = createPool();
  let redact = (text: string): string => text;
  try {
    const { value, secrets } = await resolveSecrets(written, { environment: config.environment }, file);
    redact = (text) => createRedactor(secrets).redact(text);
    const task = toTask(isJsonObject(value) ? value : {}, name);
    const context = { task, fields: task.provider.fields, signal: cancel.signal, log: logTo((text) => process.stderr.write(`${redact(text)}\n`)) };
    const returned = isProviderAction(task.taskName)
      ? await callProvider(registry.provider(name).create(context), task)
      : await callAutomator(registry.automator(name).create({ ...context, ...await settingsOf(config, name), shell: shellOf(pool, context), address: addressOf(context.task) }), task);
    print({ status: 0, ...returned }, redact);
    return returned !== undefined && returned.status !== undefined && returned.status !== 0 ? exitCodes.failed : exitCodes.ok;
  } catch (error) {
    if (error instanceof CliError || !(error instanceof Error)) throw error;
    const { kind, retryAfterMs, exitCode, result } = isPluginError(error) ? error : { kind: 'Internal' };
    print({ status: 1, error: { kind, message: error.message, retryAfterMs, exitCode }, result }, redact);
    return exitCodes.failed;
  } finally {
    process.off('SIGINT', stop);
    await pool.closeAll();
    await registry.close();
  }
}

/** What the administrator gave for the automator. */
async function settingsOf(config: Config, name: string): Promise<Pick<PluginContext, 'fields'>> {
  const { value } = await resolveSecrets(config.automators[name]?.fields ?? {}, { environment: config.environment }, `automators.${name}`);
  return { fields: isJsonObject(value) ? value : {} };
}

/** For automators that log in by themselves. */
function addressOf({ nodeId, config }: Task): NodeAddress {
  const { privateKey, jump: _jump, ...target } = readTarget(nodeId, { payload: config, auth: authOf(config) });
  return { ...target, ...(privateKey === undefined ? {} : { key: privateKey }) };
}

function print(answer: object, redact: (text: string) => string): void {
  process.stdout.write(`${redact(JSON.stringify(answer, undefined, 2))}\n`);
}

function readTask(file: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file === '-' ? 0 : file, 'utf8'));
  } catch (error) {
    throw new CliError('Usage', `${file} cannot be read as a task: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
  if (!isJsonObject(value)) throw new CliError('Usage', `${file} is no task: write {"taskName": "CREATE", "config": {…}, "provider": {"fields": {…}}}`);
  return value;
}

/** What a file leaves out is filled in; each time it is another task, unless the file gives its taskId. */
function toTask(written: JsonObject, plugin: string): Task {
  const known: readonly Action[] = [...providerActions, ...automatorActions];
  const taskName = known.find((action) => action === written['taskName']);
  if (taskName === undefined) throw new CliError('Usage', `taskName is ${JSON.stringify(written['taskName']) ?? 'missing'}; it is one of ${known.join(', ')}`);
  const text = (key: string, otherwise: string): string => (typeof written[key] === 'string' ? written[key] : otherwise);
  const part = (key: string, of: JsonObject = written): JsonObject => (isJsonObject(of[key]) ? of[key] : {});
  const [clusterUid, nodeId] = [text('clusterUid', '00000000-0000-4000-8000-000000000000'), text('nodeId', 'app-1')];
  const incarnation = typeof written['incarnation'] === 'number' ? written['incarnation'] : 1;
  const action = part('action', part('service'));
  const service = { name: typeof part('service')['name'] === 'string' ? part('service')['name'] as string : 'service', action: { type: plugin, fields: part('fields', action) } };
  const isProvider = isProviderAction(taskName);
  return {
    taskId: text('taskId', taskId({ clusterUid, nodeId, incarnation, action: taskName, operation: randomUUID(), ...(isProvider ? {} : { service: service.name }) })),
    taskName, clusterId: text('clusterId', 'try'), clusterUid, nodeId, incarnation, attempt: 1,
    config: { hostname: `try-${nodeId}`, ...part('config'), provider: { providertype: isProvider ? plugin : 'none' }, ...(isProvider ? {} : { service }) },
    nodes: part('nodes') as unknown as Task['nodes'], cluster: part('cluster'),
    provider: { name: 'try', type: isProvider ? plugin : 'none', fields: part('fields', part('provider')) },
    ...(isProvider || taskName === 'BOOTSTRAP' ? {} : { service }),
  };
}

function isProviderAction(action: AnyAction): boolean {
  return providerActions.some((one) => one === action);
}

async function callProvider(provider: ProviderWithAbilities, task: Task): Promise<TaskResult | void> {
  const { clusterId, clusterUid, nodeId, incarnation, config, provider: { fields } } = task;
  const key = machineKey(clusterUid, nodeId, incarnation);
  const tags = { [tagNames.installation]: 'try', [tagNames.key]: key, [tagNames.cluster]: clusterId, [tagNames.node]: nodeId };
  const { providerid } = config;
  const machine = { key, tags, fields, ...(typeof providerid === 'string' ? { providerid } : {}) };
  if (task.taskName === 'CONFIRM') return provider.confirm(machine);
  if (task.taskName === 'DELETE') return provider.delete(machine);
  const [flavor, image, hostname] = ['flavor', 'image', 'hostname'].map((name) => textOf(config[name]));
  return provider.create({ key, tags, fields, token: createHash('sha256').update(key).digest('hex'), flavor: flavor ?? '', image: image ?? '', hostname: hostname ?? '' });
}

async function callAutomator(automator: Automator, { taskName, config, service }: Task): Promise<TaskResult | void> {
  const auth = authOf(config);
  const sshAuth = { ...auth, user: textOf(auth['user']) };
  const [script, data] = ['script', 'data'].map((name) => textOf(service?.action.fields[name]));
  if (taskName === 'BOOTSTRAP') return automator.bootstrap(sshAuth);
  const methods = { INSTALL: 'install', CONFIGURE: 'configure', INITIALIZE: 'init', START: 'start', STOP: 'stop', REMOVE: 'remove' } as const;
  const action = serviceActions.find((one) => one === taskName) ?? 'INSTALL';
  return automator[methods[action]](sshAuth, script ?? '', data ?? '');
}

function shellOf(pool: ReturnType<typeof createPool>, { task, signal, log }: PluginContext): ReturnType<typeof createShell> {
  const target = readTarget(task.nodeId, { payload: task.config, auth: authOf(task.config) });
  return createShell({ pool, target, signal, log, runId: `${task.taskId}.1`, onOutput: (_stream, chunk) => log.info(Buffer.from(chunk).toString('utf8').trimEnd()) });
}

function logTo(write: (text: string) => void): PluginContext['log'] {
  const at = (level: string) => (message: string, attributes?: JsonObject): void => write(`${level} ${message}${attributes === undefined ? '' : ` ${JSON.stringify(attributes)}`}`);
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** As the engine does: what is no text is handed on as JSON. */
function textOf(value: Json | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
