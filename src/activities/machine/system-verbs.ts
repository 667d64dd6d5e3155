import { setTimeout as pause } from 'node:timers/promises';
import { anySignal } from '../../model/signals.js';
import { runId } from '../../model/names.js';
import { PluginError } from '../../plugins/errors.js';
import type { Knowledge, Outcome, SystemInput, SystemPart } from '../../plugins/contract.js';
import { readKnowledge, readOutcome } from '../../schema/machine-answer.js';
import { carryOut, reachNode } from '../automator/automator-task.js';
import { insist, whyOf } from './answers.js';
import { askProvider } from './ask-provider.js';
import type { Handler, MachineCall } from './machine-parts.js';
import { resetPower } from './provider-verbs.js';

/** What the system on a machine does itself: the part of an automator, over the machine's shell. */
export const systemVerbs = {
  PRE_RELOAD: (call) => part(call, 'preReload'),
  POST_LOAD: (call) => part(call, 'postLoad'),
  PRE_CAPTURE: (call) => part(call, 'preCapture'),
  SANITIZE: (call) => part(call, 'sanitize'),
} as const satisfies Readonly<Record<string, Handler>>;

/** Whether the system says that its image is as it should be; undefined where nobody can ask it. */
export async function checkImage(call: MachineCall): Promise<Knowledge | undefined> {
  const { parts, request, attempt } = call;
  const name = request.order.system;
  if (name === undefined || request.order.image === undefined || !parts.registry.automator(name).abilities.includes('checkImage')) return undefined;
  try {
    return readKnowledge(await askSystem(call, name, 'checkImage'), { plugin: name, method: 'checkImage' });
  } catch (error) {
    return { is: 'unknown', why: whyOf(error, attempt.signal) };
  }
}

async function part(call: MachineCall, method: 'preReload' | 'postLoad' | 'preCapture' | 'sanitize'): ReturnType<Handler> {
  const { system } = call.request.order;
  if (system === undefined) throw new PluginError('Invalid', 'the machine was registered without a system');
  insist(call.action, readOutcome(await askSystem(call, system, method), { plugin: system, method }));
  return {};
}

async function askSystem(call: MachineCall, name: string, method: keyof SystemPart): Promise<unknown> {
  const { parts, task, request, attempt } = call;
  const plugin = parts.registry.automator(name);
  if (!plugin.abilities.includes(method)) throw new PluginError('Invalid', `automator ${name} has no ${method}`);
  const node = await reachNode(parts, request, attempt);
  attempt.at(`${method} by ${name}`);
  const opening = { plugin, task, request, attempt, node, run: `${runId(task.taskId, request.run)}.${method}` };
  return carryOut(parts, opening, async (automator): Promise<unknown> => automator[method]?.(inputOf(call)));
}

function inputOf(call: MachineCall): SystemInput {
  const { request: { nodeId, clusterUid, config, order } } = call;
  if (order.image === undefined) throw new PluginError('Invalid', 'the task names no image');
  const hostname = typeof config['hostname'] === 'string' ? config['hostname'] : nodeId;
  return { image: order.image, machine: { id: clusterUid, hostname }, at: order.at, ...(order.user === undefined ? {} : { user: order.user }), resetNode: () => resetNode(call) };
}

const upLimitMs = 5 * 60_000;

/** The only way of a system's part to its provider: a reset of its own machine, which is waited for. */
async function resetNode(call: MachineCall): Promise<Outcome> {
  const { parts, request, attempt } = call;
  await askProvider(call, (open) => resetPower(call, open));
  for (const until = Date.now() + upLimitMs; ;) {
    try {
      const { address } = await reachNode(parts, request, attempt);
      await parts.nodes.probe(address, anySignal([attempt.signal, attempt.detach]));
      return { answer: 'done' };
    } catch (error) {
      const why = whyOf(error, anySignal([attempt.signal, attempt.detach]));
      if (Date.now() > until) return { answer: 'unknown', why };
      await pause(500, undefined, { signal: attempt.signal });
    }
  }
}
