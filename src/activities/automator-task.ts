import { isJsonObject, type Json, type JsonObject } from '../model/json.js';
import type { TaskRequest } from '../model/messages.js';
import { runId } from '../model/names.js';
import { mergePayload } from '../model/payload.js';
import type { Task, TaskResult } from '../model/task.js';
import type { Automator, SshAuth } from '../plugins/contract.js';
import { PluginError } from '../plugins/errors.js';
import type { RegisteredAutomator } from '../plugins/registry.js';
import { readAddress } from './address.js';
import type { Attempt } from './attempt.js';
import type { ActivityParts, NodeAddress } from './parts.js';
import { refuseFailure, takeResult } from './results.js';

export interface Node {
  readonly address: NodeAddress;
  readonly sshAuth: SshAuth;
}

/** Carries out BOOTSTRAP by every automator that prepares the node, in turn. */
export async function runBootstrap(parts: ActivityParts, task: Task, request: TaskRequest, attempt: Attempt): Promise<JsonObject> {
  const node = await reachNode(parts, request, attempt);
  let result: JsonObject = {};
  for (const plugin of parts.registry.automators()) {
    const { name, prepares } = plugin.descriptor;
    if (prepares === 'users' && request.automators?.includes(name) !== true) continue;
    attempt.at(`bootstrap of ${name}`);
    const automator = open(parts, { plugin, task, request, attempt, node, run: `${runId(task.taskId, request.run)}.${name}` });
    const taken = takeResult(name, await automator.bootstrap(node.sshAuth), mergePayload(request.config, result));
    refuseFailure(name, 'ScriptFailed', taken);
    await printOutput(attempt, taken);
    result = mergePayload(result, taken.result);
  }
  return result;
}

/** Carries out a service's action by the automator that the action names. */
export async function runServiceAction(parts: ActivityParts, task: Task, request: TaskRequest, attempt: Attempt): Promise<JsonObject> {
  const action = request.service?.action;
  if (task.service === undefined || action === undefined) throw new PluginError('Invalid', `${task.taskName} came without a service`);
  const plugin = parts.registry.automator(action.type);
  const node = await reachNode(parts, request, attempt);
  const { value, secrets } = await parts.resolveSecrets(action.fields, `fields of ${task.taskName} of ${task.service.name}`);
  attempt.hide(secrets);
  const fields = isJsonObject(value) ? value : {};
  const resolved: Task = { ...task, service: { name: task.service.name, action: { type: action.type, fields } } };
  const automator = open(parts, { plugin, task: resolved, request, attempt, node, run: runId(task.taskId, request.run) });
  const { name } = plugin.descriptor;
  attempt.at(`${task.taskName} by ${name}`);
  const taken = takeResult(name, await callMethod(automator, resolved, node.sshAuth, fields), request.config);
  refuseFailure(name, 'ScriptFailed', taken);
  await printOutput(attempt, taken);
  return taken.result;
}

async function callMethod(automator: Automator, task: Task, sshAuth: SshAuth, fields: JsonObject): Promise<TaskResult | void> {
  const script = textOf(fields['script']);
  const data = textOf(fields['data']);
  switch (task.taskName) {
    case 'INSTALL': return automator.install(sshAuth, script, data);
    case 'CONFIGURE': return automator.configure(sshAuth, script, data);
    case 'INITIALIZE': return automator.init(sshAuth, script, data);
    case 'START': return automator.start(sshAuth, script, data);
    case 'STOP': return automator.stop(sshAuth, script, data);
    case 'REMOVE': return automator.remove(sshAuth, script, data);
    default: throw new PluginError('Invalid', `${task.taskName} is no action of a service`);
  }
}

/** Data may be structured; a method gets it as text. */
function textOf(value: Json | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Where the task's node is, and how to log in there. */
export async function reachNode(parts: ActivityParts, request: TaskRequest, attempt: Attempt): Promise<Node> {
  const { value, secrets } = await parts.resolveSecrets(request.config, `payload of ${request.nodeId}`);
  attempt.hide(secrets);
  const config = isJsonObject(value) ? value : {};
  const address = readAddress(config, request.provider.type);
  attempt.hide([address.password, address.key].filter((secret) => secret !== undefined));
  const auth = config['ssh-auth'];
  return { address, sshAuth: { ...(isJsonObject(auth) ? auth : {}), user: address.user } };
}

interface Opening {
  readonly plugin: RegisteredAutomator;
  readonly task: Task;
  readonly request: TaskRequest;
  readonly attempt: Attempt;
  readonly node: Node;
  readonly run: string;
}

function open(parts: ActivityParts, { plugin, task, request, attempt, node, run }: Opening): Automator {
  const timeoutMs = request.service?.timeoutMs;
  const shell = parts.nodes.shell(node.address, {
    runId: run, signal: attempt.signal, detach: attempt.detach, log: attempt.log,
    onOutput: (stream, chunk) => attempt.output.print(stream, chunk),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  });
  return plugin.create({ task, log: attempt.log, signal: attempt.signal, fields: {}, shell });
}

/** Output that a plugin returned in words, as distinct from what its scripts printed. */
async function printOutput(attempt: Attempt, taken: TaskResult): Promise<void> {
  if (taken.stdout !== undefined) await attempt.output.print('stdout', Buffer.from(taken.stdout));
  if (taken.stderr !== undefined) await attempt.output.print('stderr', Buffer.from(taken.stderr));
}
