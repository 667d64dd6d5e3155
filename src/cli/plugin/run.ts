import { serviceActions } from '../../model/action.js';
import { isJsonObject, type Json, type JsonObject } from '../../model/json.js';
import type { Config } from '../../config/index.js';
import { checkAutomators } from '../../plugins/check-accounts.js';
import type { Automator, NodeAddress, PluginContext, Task, TaskResult } from '../../plugins/contract.js';
import { isPluginError } from '../../plugins/errors.js';
import { callInTime, clientToken, machineInput } from '../../plugins/provider-call.js';
import { loadRegistry, type ProviderWithAbilities, type Registry } from '../../plugins/registry.js';
import type { Descriptor } from '../../schema/descriptor.js';
import { ProblemsError } from '../../schema/problem.js';
import { checkFieldFiles } from '../../schema/field-files.js';
import { acceptResult } from '../../schema/accept-result.js';
import { loginReferences } from '../../plugins/login-references.js';
import { createRedactor } from '../../secrets/redact.js';
import { createPool } from '../../ssh/pool.js';
import { createShell } from '../../ssh/shell.js';
import { CliError, exitCodes } from '../errors.js';
import { readConfiguration, type CommonOptions } from '../configuration.js';
import { authOf, readTarget } from '../login.js';
import { refuseProblems, resolveOwnFields, resolveProviderFields } from '../provider-call.js';
import { fillFields, isProviderAction, readTask, toTask } from './task-file.js';

/**
 * Carries out one task by one plugin, here and once: to try a plugin by hand. Standard output gets the result
 * as JSON, standard error the log. Fields and result are checked as the engine does. The engine's
 * retries, waits and SSH probes are left out.
 */
export async function runTask(name: string, file: string, options: CommonOptions): Promise<number> {
  const config = readConfiguration(options);
  const written = toTask(readTask(file), name);
  const registry = await loadRegistry({
    folders: config.plugins,
    programs: config.programs,
    log: { info: () => undefined },
  });
  const cancel = new AbortController();
  const stop = (): void => cancel.abort(new Error('interrupted'));
  process.once('SIGINT', stop);
  const pool = createPool();
  let redact = (text: string): string => text;
  try {
    const plugin = isProviderAction(written.taskName) ? registry.provider(name) : registry.automator(name);
    const { task, secrets } = await resolveTask(
      fillFields(written, plugin.descriptor),
      plugin.descriptor,
      config,
      file,
    );
    redact = (text) => createRedactor(secrets).redact(text);
    const context = {
      task,
      fields: task.provider.fields,
      signal: cancel.signal,
      log: logTo((text) => process.stderr.write(`${redact(text)}\n`)),
    };
    const returned = isProviderAction(task.taskName)
      ? await callInTime(registry.provider(name), context, (provider) => callProvider(provider, task))
      : await callAutomator(
          registry
            .automator(name)
            .create({
              ...context,
              ...(await settingsOf(config, registry, name)),
              shell: shellOf(pool, context),
              address: addressOf(context.task),
            }),
          task,
        );
    const answer = {
      status: 0,
      ...acceptResult(returned, {
        plugin: plugin.descriptor,
        action: task.taskName,
        references: await loginReferences(
          { [name]: { type: name, fields: task.provider.fields } },
          name,
          isProviderAction(task.taskName) ? [plugin] : [],
        ),
      }),
    };
    print(answer, redact);
    return answer.status === 0 ? exitCodes.ok : exitCodes.failed;
  } catch (error) {
    if (error instanceof CliError || error instanceof ProblemsError || !(error instanceof Error)) throw error;
    const { kind, retryAfterMs, exitCode, remedy, result } = isPluginError(error)
      ? error
      : { kind: 'Internal' };
    const { message } = error;
    print({ status: 1, error: { kind, message, retryAfterMs, exitCode, remedy }, result }, redact);
    return exitCodes.failed;
  } finally {
    process.off('SIGINT', stop);
    await pool.closeAll();
    await registry.close();
  }
}

/**
 * Resolves the secrets in the fields and in ssh-auth; the rest of the payload is data. References that the
 * plugin passes on stay references.
 */
async function resolveTask(
  task: Task,
  descriptor: Descriptor,
  { environment }: Config,
  file: string,
): Promise<{ readonly task: Task; readonly secrets: readonly string[] }> {
  const found: string[] = [];
  const resolve = async (written: JsonObject, where: string): Promise<JsonObject> => {
    const { fields, secrets } = await resolveOwnFields(environment, written, `${file}: ${where}`);
    found.push(...secrets);
    return fields;
  };
  const { config, provider, service } = task;
  const place = `${file}: provider.fields`;
  const { fields, secrets } = await resolveProviderFields(environment, descriptor, provider.fields, place);
  found.push(...secrets);
  const auth = config['ssh-auth'];
  const login: JsonObject = isJsonObject(auth) ? { 'ssh-auth': await resolve(auth, 'config.ssh-auth') } : {};
  const resolved: Task = { ...task, config: { ...config, ...login }, provider: { ...provider, fields } };
  if (service === undefined) return { task: resolved, secrets: found };
  const action = { ...service.action, fields: await resolve(service.action.fields, 'service.action.fields') };
  return { task: { ...resolved, service: { ...service, action } }, secrets: found };
}

/** The administrator's settings of the automator, with defaults. */
async function settingsOf(
  { automators, environment }: Config,
  registry: Registry,
  name: string,
): Promise<Pick<PluginContext, 'fields'>> {
  const { [name]: settings } = checkAutomators(registry, { [name]: automators[name] ?? { fields: {} } });
  const written = settings?.fields ?? {};
  const { descriptor } = registry.automator(name);
  const { fields } = await resolveOwnFields(environment, written, `automators.${name}`);
  // References may name files too.
  refuseProblems(checkFieldFiles(descriptor, fields, ['automators', name, 'fields']));
  return { fields };
}

/** For automators that open their own sessions. */
function addressOf({ nodeId, config }: Task): NodeAddress {
  const {
    privateKey: key,
    jump: _jump,
    ...target
  } = readTarget(nodeId, { payload: config, auth: authOf(config) });
  return { ...target, key };
}

function print(answer: object, redact: (text: string) => string): void {
  process.stdout.write(`${redact(JSON.stringify(answer, undefined, 2))}\n`);
}

async function callProvider(provider: ProviderWithAbilities, task: Task): Promise<TaskResult | void> {
  const {
    clusterId,
    clusterUid,
    nodeId,
    incarnation,
    config,
    provider: { fields },
  } = task;
  const machine = machineInput('try', clusterId, { keyUid: clusterUid, nodeId, incarnation, config }, fields);
  if (task.taskName === 'CONFIRM') return provider.confirm(machine);
  if (task.taskName === 'DELETE') return provider.delete(machine);
  const [flavor, image, hostname] = ['flavor', 'image', 'hostname'].map((name) => textOf(config[name]));
  return provider.create({
    ...machine,
    token: clientToken(machine.key),
    flavor: flavor ?? '',
    image: image ?? '',
    hostname: hostname ?? '',
  });
}

async function callAutomator(
  automator: Automator,
  { taskName, config, service }: Task,
): Promise<TaskResult | void> {
  const auth = authOf(config);
  const sshAuth = { ...auth, user: textOf(auth['user']) };
  const [script, data] = ['script', 'data'].map((name) => textOf(service?.action.fields[name]));
  if (taskName === 'BOOTSTRAP') return automator.bootstrap(sshAuth);
  const methods = {
    INSTALL: 'install',
    CONFIGURE: 'configure',
    RELOAD: 'configure',
    INITIALIZE: 'init',
    START: 'start',
    STOP: 'stop',
    REMOVE: 'remove',
  } as const;
  const action = serviceActions.find((one) => one === taskName) ?? 'INSTALL';
  return automator[methods[action]](sshAuth, script ?? '', data ?? '');
}

function shellOf(
  pool: ReturnType<typeof createPool>,
  { task, signal, log }: PluginContext,
): ReturnType<typeof createShell> {
  const target = readTarget(task.nodeId, { payload: task.config, auth: authOf(task.config) });
  return createShell({
    pool,
    target,
    signal,
    log,
    runId: `${task.taskId}.1`,
    onOutput: (_stream, chunk) => log.info(Buffer.from(chunk).toString('utf8').trimEnd()),
  });
}

function logTo(write: (text: string) => void): PluginContext['log'] {
  const at =
    (level: string) =>
    (message: string, attributes?: JsonObject): void =>
      write(`${level} ${message}${attributes === undefined ? '' : ` ${JSON.stringify(attributes)}`}`);
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** As the engine does: non-text is passed as JSON. */
function textOf(value: Json | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
