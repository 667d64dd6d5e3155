import type { JsonObject } from '../../model/json.js';
import { runId } from '../../model/names.js';
import { PluginError } from '../../plugins/errors.js';
import { reachNode, fenceOf } from './automator-task.js';
import type { TaskCall } from '../task-call.js';

/** Carries out EXEC: a user's command, once on the node, over the same transport as scripts. */
export async function runCommand({ parts, task, request, attempt }: TaskCall): Promise<JsonObject> {
  const { command } = request;
  if (command === undefined) throw new PluginError('Invalid', 'EXEC has no command');
  const node = await reachNode(parts, request, attempt);
  const { timeoutMs, sudo = false } = command;
  const shell = parts.nodes.shell(node.address, {
    runId: runId(request),
    signal: attempt.signal,
    detach: attempt.detach,
    log: attempt.log,
    fence: fenceOf(request),
    claims: attempt.claims,
    onOutput: (stream, chunk) => attempt.output.print(stream, chunk),
    timeoutMs,
  });
  attempt.at('runs the command');
  const { hostname, ipaddress } = task.config;
  const { exitCode, stdout, stderr } = await shell.run({
    text: command.text,
    sudo,
    environment: {
      HEDDLE_CLUSTER: task.clusterId,
      HEDDLE_NODE: task.nodeId,
      HEDDLE_HOSTNAME: textOf(hostname),
      HEDDLE_IPADDRESS: textOf(ipaddress),
    },
  });
  if (exitCode !== 0)
    throw new PluginError('ScriptFailed', `the command ended with exit code ${exitCode}`, {
      exitCode,
      stdout,
      stderr,
    });
  return {};
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
