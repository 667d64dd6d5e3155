import { setTimeout as pause } from 'node:timers/promises';
import { anySignal } from '../../model/signals.js';
import { runId } from '../../model/names.js';
import { isPluginError, PluginError } from '../../plugins/errors.js';
import type {
  AccessInput,
  AutomatorAbilities,
  Knowledge,
  Outcome,
  SystemInput,
} from '../../plugins/contract.js';
import type { AutomatorWithAbilities } from '../../plugins/registry.js';
import { readAccounts, readKnowledge, readOutcome } from '../../schema/machine-answer.js';
import { runAutomator, reachNode } from '../automator/automator-task.js';
import { insist, whyOf } from './outcomes.js';
import { askProvider } from './call-provider.js';
import type { MachineHandler, MachineCall } from '../task-call.js';
import { resetPower } from './provider-verbs.js';

/** What the system on a machine does itself: the part of an automator, over the machine's shell. */
export const systemVerbs = {
  PRE_RELOAD: (call) => part(call, 'preReload'),
  POST_LOAD: (call) => part(call, 'postLoad'),
  PRE_CAPTURE: (call) => part(call, 'preCapture'),
  SANITIZE: (call) => part(call, 'sanitize'),
  GRANT_ACCESS: async (call) => {
    const outcome = await account(call, 'grantAccess');
    await proveLogin(call);
    return outcome;
  },
  REVOKE_ACCESS: (call) => account(call, 'revokeAccess'),
} as const satisfies Readonly<Record<string, MachineHandler>>;

/** Whether the machine's system reports its image as intact; undefined if it cannot be asked. */
export async function checkImage(call: MachineCall): Promise<Knowledge | undefined> {
  const { parts, request, attempt } = call;
  const name = request.order.system;
  if (
    name === undefined ||
    request.order.image === undefined ||
    !parts.registry.automator(name).abilities.includes('checkImage')
  )
    return undefined;
  try {
    const returned = await askSystem(call, name, 'checkImage', (automator) =>
      automator.checkImage?.(inputOf(call)),
    );
    return readKnowledge(returned, { plugin: name, method: 'checkImage' });
  } catch (error) {
    return { is: 'unknown', why: whyOf(error, attempt.signal) };
  }
}

async function part(
  call: MachineCall,
  method: 'preReload' | 'postLoad' | 'preCapture' | 'sanitize',
): ReturnType<MachineHandler> {
  const system = systemOf(call);
  const returned = await askSystem(call, system, method, (automator) => automator[method]?.(inputOf(call)));
  insist(call.action, readOutcome(returned, { plugin: system, method }));
  return {};
}

async function account(
  call: MachineCall,
  method: 'grantAccess' | 'revokeAccess',
): ReturnType<MachineHandler> {
  const system = systemOf(call);
  const input = accessInput(call);
  if (input.password !== undefined) call.attempt.hide([input.password]);
  const returned = await askSystem(call, system, method, (automator) => automator[method]?.(input));
  const { accounts, ...outcome } = readAccounts(returned, { plugin: system, method });
  insist(call.action, outcome);
  return accounts === undefined ? {} : { accounts };
}

/** A password that the machine's SSH server does not take is found out here, not by the user. */
async function proveLogin(call: MachineCall): Promise<void> {
  const { parts, request, attempt } = call;
  const { login, password } = accessInput(call);
  if (password === undefined) return;
  attempt.at('logs in as the user');
  const {
    address: { host, port, hostKey, jump },
  } = await reachNode(parts, request, attempt);
  const way = { hostKey, jump };
  const address = { host, port, user: login, password, ...way };
  try {
    await parts.nodes.probe(address, anySignal([attempt.signal, attempt.detach]));
  } catch (error) {
    if (!isPluginError(error) || error.kind !== 'Auth') throw error;
    const why = `the SSH server of ${request.nodeId} refuses the password of its new account ${login}`;
    throw new PluginError('Invalid', `${why}; if it accepts no passwords, use a public key (--key)`, {
      cause: error,
    });
  }
}

function systemOf({
  request: {
    order: { system },
  },
}: MachineCall): string {
  if (system === undefined) throw new PluginError('Invalid', 'the machine was registered without a system');
  return system;
}

function accessInput({
  request: {
    order: { access },
  },
}: MachineCall): AccessInput {
  if (access === undefined) throw new PluginError('Invalid', 'the task has no account');
  const { login, password, publicKey, until, accounts } = access;
  return { login, password, publicKey, until, renewed: accounts === undefined ? undefined : true };
}

type Ask = (automator: AutomatorWithAbilities) => Promise<unknown> | undefined;

async function askSystem(
  call: MachineCall,
  name: string,
  method: keyof AutomatorAbilities,
  ask: Ask,
): Promise<unknown> {
  const { parts, task, request, attempt } = call;
  const plugin = parts.registry.automator(name);
  if (!plugin.abilities.includes(method))
    throw new PluginError('Invalid', `automator ${name} has no ${method}`);
  const node = await reachNode(parts, request, attempt);
  attempt.at(`${method} by ${name}`);
  const opening = { plugin, task, request, attempt, node, run: `${runId(request)}.${method}` };
  return runAutomator(parts, opening, async (automator): Promise<unknown> => ask(automator));
}

function inputOf(call: MachineCall): SystemInput {
  const {
    request: { nodeId, clusterUid, config, order },
  } = call;
  if (order.image === undefined) throw new PluginError('Invalid', 'the task has no image');
  const hostname = typeof config['hostname'] === 'string' ? config['hostname'] : nodeId;
  return {
    image: order.image,
    machine: { id: clusterUid, hostname },
    at: order.at,
    user: order.user,
    resetNode: () => resetNode(call),
  };
}

const upLimitMs = 5 * 60_000;

/** The only way of a system's part to its provider: a reset of its own machine, which is waited for. */
async function resetNode(call: MachineCall): Promise<Outcome> {
  const { parts, request, attempt } = call;
  await askProvider(call, (open) => resetPower(call, open));
  for (const until = performance.now() + upLimitMs; ;) {
    try {
      const { address } = await reachNode(parts, request, attempt);
      await parts.nodes.probe(address, anySignal([attempt.signal, attempt.detach]));
      return { answer: 'done' };
    } catch (error) {
      const why = whyOf(error, anySignal([attempt.signal, attempt.detach]));
      if (performance.now() > until) return { answer: 'unknown', why };
      await pause(500, undefined, { signal: attempt.signal });
    }
  }
}
