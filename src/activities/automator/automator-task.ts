import { activityInfo } from '@temporalio/activity';
import { anySignal } from '../../model/signals.js';
import { isJsonObject, type Json, type JsonObject } from '../../model/json.js';
import type { TaskRequest } from '../../model/node/task-request.js';
import { runId, uidOfKey } from '../../model/names.js';
import { mergePayload } from '../../model/node/payload.js';
import type { Task, TaskResult } from '../../model/node/task.js';
import type { Automator, SshAuth } from '../../plugins/contract.js';
import { PluginError } from '../../plugins/errors.js';
import { checkFieldFiles } from '../../schema/field-files.js';
import { formatProblem } from '../../schema/problem.js';
import type { AutomatorWithAbilities, RegisteredAutomator } from '../../plugins/registry.js';
import { findLogin, type NodeLogin } from '../provider/address.js';
import { markBefore, type Attempt } from '../attempt.js';
import { digestOf } from '../digest.js';
import { fillFields } from './fill-fields.js';
import { awaitHealth, type Checked } from './health.js';
import { openResources } from '../artifact/open.js';
import { resolveOwnSecret } from '../provider/own-secret.js';
import type { ActivityParts, ShellOptions } from '../parts.js';
import { refuseResolved } from '../refuse-resolved.js';
import { recordMark } from '../recorded-mark.js';
import type { TaskCall } from '../task-call.js';
import { acceptResult } from '../../schema/accept-result.js';
import { refuseFailure } from '../results.js';

/** Carries out BOOTSTRAP by every automator that prepares the node, in turn. */
export async function runBootstrap({ parts, task, request, attempt }: TaskCall): Promise<JsonObject> {
  const node = await reachNode(parts, request, attempt);
  let result: JsonObject = {};
  for (const plugin of parts.registry.automators()) {
    const { name, prepares } = plugin.descriptor;
    if (prepares === 'users' && request.automators?.includes(name) !== true) continue;
    attempt.at(`bootstrap of ${name}`);
    const opening = { plugin, task, request, attempt, node, run: `${runId(request)}.${name}` };
    const returned = await runAutomator(parts, opening, (automator) => automator.bootstrap(node.sshAuth));
    const taken = acceptResult(returned, {
      plugin: plugin.descriptor,
      action: 'BOOTSTRAP',
      config: mergePayload(request.config, result),
    });
    refuseFailure(name, 'ScriptFailed', taken);
    await printOutput(attempt, taken);
    result = mergePayload(result, taken.result);
  }
  return result;
}

/** Carries out a service's action by the automator that the action names. */
export async function runServiceAction({ parts, task, request, attempt }: TaskCall): Promise<JsonObject> {
  const action = request.service?.action;
  if (task.service === undefined || action === undefined)
    throw new PluginError('Invalid', `${task.taskName} has no service`);
  const plugin = parts.registry.automator(action.type);
  const node = await reachNode(parts, request, attempt);
  const { descriptor } = plugin;
  const filled = await fillFields(parts, { task, request, attempt, descriptor }, action.fields);
  refuseResolved(descriptor, ['user'], filled.fields, ['services', task.service.name, 'fields']);
  const { fields, resources } = await openResources(parts, descriptor, filled.fields, attempt);
  const resolved: Task = {
    ...task,
    service: {
      name: task.service.name,
      action: {
        type: action.type,
        fields,
        ...(filled.literal.length === 0 ? {} : { literal: filled.literal }),
      },
    },
    ...(resources === undefined ? {} : { resources }),
  };
  // A rollback that is delivered again after a reset may return to another spec, with another
  // script, than before.
  const run = `${runId(request)}.${digestOf(action)}`;
  const opening = { plugin, task: resolved, request, attempt, node, run };
  const { name } = descriptor;
  attempt.at(`${task.taskName} by ${name}`);
  const returned = await runAutomator(parts, opening, (automator) =>
    callMethod(automator, resolved, node.sshAuth, fields),
  );
  const taken = acceptResult(returned, { plugin: descriptor, action: task.taskName, config: request.config });
  refuseFailure(name, 'ScriptFailed', taken);
  await printOutput(attempt, taken);
  if (request.check !== undefined) await awaitHealth(parts, request, checkedNode(parts, opening), attempt);
  return taken.result;
}

/** The node as the check of its service sees it. */
function checkedNode(parts: ActivityParts, { request, attempt, node: { address }, run }: Opening): Checked {
  const { ipaddress } = request.config;
  const shell = parts.nodes.shell(address, {
    runId: run,
    signal: attempt.signal,
    detach: attempt.detach,
    log: attempt.log,
    fence: fenceOf(request),
    claims: attempt.claims,
    onOutput: () => undefined,
  });
  return { address, ipaddress: typeof ipaddress === 'string' ? ipaddress : address.host, shell };
}

async function callMethod(
  automator: Automator,
  task: Task,
  sshAuth: SshAuth,
  fields: JsonObject,
): Promise<TaskResult | void> {
  const script = textOf(fields['script']);
  const data = textOf(fields['data']);
  switch (task.taskName) {
    case 'INSTALL':
      return automator.install(sshAuth, script, data);
    case 'CONFIGURE':
    // A reload is one more piece of configuration work: plugins need no further method for it.
    case 'RELOAD':
      return automator.configure(sshAuth, script, data);
    case 'INITIALIZE':
      return automator.init(sshAuth, script, data);
    case 'START':
      return automator.start(sshAuth, script, data);
    case 'STOP':
      return automator.stop(sshAuth, script, data);
    case 'REMOVE':
      return automator.remove(sshAuth, script, data);
    default:
      throw new PluginError('Invalid', `${task.taskName} is not an action of a service`);
  }
}

/** Data may be structured; a method gets it as text. */
function textOf(value: Json | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Where the task's node is, and how to log in there. */
export function reachNode(
  parts: ActivityParts,
  { provider, config }: TaskRequest,
  attempt: Attempt,
): Promise<NodeLogin> {
  return findLogin(parts, { account: provider.name, config }, attempt);
}

/**
 * Scripts of one node run one at a time; the attempt that the server scheduled last is the one that is
 * wanted.
 */
export function fenceOf({ clusterUid, nodeId, operation }: TaskRequest): ShellOptions['fence'] {
  return {
    node: `${clusterUid}/${nodeId}`,
    time: activityInfo().currentAttemptScheduledTimestampMs,
    operation: uidOfKey(operation),
  };
}

export interface Opening {
  readonly plugin: RegisteredAutomator;
  readonly task: Task;
  readonly request: TaskRequest;
  readonly attempt: Attempt;
  readonly node: NodeLogin;
  readonly run: string;
}

/**
 * Calls the automator. What it leaves running on the node when the call is over, however it ended, is let go
 * of.
 */
export async function runAutomator<Returned>(
  parts: ActivityParts,
  opening: Opening,
  call: (automator: AutomatorWithAbilities) => Promise<Returned>,
): Promise<Returned> {
  const over = new AbortController();
  const { descriptor } = opening.plugin;
  const { name } = descriptor;
  const written = parts.automators[name]?.fields ?? {};
  const { value, secrets } = await parts.resolveSecrets(written, {
    writtenBy: 'administrator',
    place: `fields of automator ${name}`,
  });
  opening.attempt.hide(secrets);
  const settings = isJsonObject(value) ? value : {};
  // References may name files too.
  const [untrusted] = checkFieldFiles(descriptor, settings, ['automators', name, 'fields']);
  if (untrusted !== undefined) throw new PluginError('Invalid', formatProblem(untrusted));
  refuseResolved(descriptor, ['admin'], settings, ['automators', name, 'fields']);
  try {
    return await call(open(parts, opening, settings, over.signal));
  } finally {
    over.abort(new Error('the call has ended'));
  }
}

function open(
  parts: ActivityParts,
  { plugin, task, request, attempt, node, run }: Opening,
  fields: JsonObject,
  over: AbortSignal,
): AutomatorWithAbilities {
  const timeoutMs = request.service?.timeoutMs;
  const shell = parts.nodes.shell(node.address, {
    runId: run,
    signal: attempt.signal,
    detach: anySignal([attempt.detach, over]),
    log: attempt.log,
    fence: fenceOf(request),
    claims: attempt.claims,
    onOutput: (stream, chunk) => attempt.output.print(stream, chunk),
    timeoutMs,
  });
  const { startToCloseTimeoutMs } = activityInfo();
  return plugin.create({
    task,
    log: attempt.log,
    signal: attempt.signal,
    fields,
    shell,
    address: node.address,
    print: (stream, text) => attempt.output.print(stream, Buffer.from(text)),
    detach: attempt.detach,
    timeoutMs,
    endsAt: Date.now() + startToCloseTimeoutMs - Math.min(lastWordsMs, startToCloseTimeoutMs / 10),
    resolveSecret: (reference) => resolveOwnSecret(parts, request, attempt, reference),
    note: {
      before: markBefore(),
      write: (mark) => recordMark(parts, attempt, { mark, what: `the progress of ${attempt.title}` }),
    },
  });
}

/** How long before the task's deadline a program is ended, in ms: afterwards the server accepts no result. */
const lastWordsMs = 5_000;

/** Output that a plugin returned in words, as distinct from what its scripts printed. */
async function printOutput(attempt: Attempt, taken: TaskResult): Promise<void> {
  if (taken.stdout !== undefined) await attempt.output.print('stdout', Buffer.from(taken.stdout));
  if (taken.stderr !== undefined) await attempt.output.print('stderr', Buffer.from(taken.stderr));
}
