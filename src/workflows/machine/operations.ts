import { workflowInfo } from '@temporalio/workflow';
import { openingEvents } from '../../model/machine/accept.js';
import type { MachineIntent, MachineOperation, OperationResult } from '../../model/machine/machine.js';
import { hostname, machineWorkflowId, taskId } from '../../model/names.js';
import { machinePartOf, mergePayload } from '../../model/payload.js';
import { runDescribeAccount, runTask } from '../run-task.js';
import { readTaskFailure } from '../task-failure.js';
import { capture, unload } from './capture.js';
import { toNotDone } from './failure.js';
import { load } from './load.js';
import { change, happen, note, now, type MachineMemory } from './memory.js';
import { incarnation, runAction } from './run-step.js';

const hour = 3_600_000;

/** Carries out what was asked; returns when it is done. @throws NotDone when it is not, or when nobody can tell. */
export async function carryOut(memory: MachineMemory, { id, intent }: MachineOperation): Promise<OperationResult> {
  // Where nothing was written over it, the same write goes on under the same name.
  const token = `${memory.state.uid}/${incarnation}/${id}`;
  switch (intent.kind) {
    case 'register': return register(memory);
    case 'status': return status(memory, intent);
    case 'power': return power(memory, intent);
    case 'load': return load(memory, { image: intent.image, force: intent.force === true || memory.state.half !== undefined, withinMs: intent.withinMs ?? hour, token });
    case 'capture': return capture(memory, { image: intent.image, prove: intent.prove, withinMs: intent.withinMs ?? 7 * hour, token });
    case 'unload': return unload(memory);
    case 'remove': return remove(memory);
    case 'log in': return logIn(memory, intent.user);
    case 'reserve': case 'time out': case 'release': case 'maintain': case 'restore': return move(memory, intent);
  }
}

/** The machine is had as a node's machine is: by CREATE and CONFIRM, under a key that names it for ever. */
async function register(memory: MachineMemory): Promise<OperationResult> {
  const { registration, name } = memory.state;
  const account = await runDescribeAccount(registration).catch((error: unknown) => { throw toNotDone(memory, 'CREATE', error); });
  change(memory, {
    account, begun: true,
    payload: { hostname: hostname('machine', name), flavor: account.flavor, image: account.image, nodenum: 1, group: name, services: [] },
  });
  await task(memory, 'CREATE');
  await task(memory, 'CONFIRM');
  change(memory, { state: 'available' });
  return {};
}

async function remove(memory: MachineMemory): Promise<OperationResult> {
  if (memory.state.begun === true) await task(memory, 'DELETE');
  memory.removed = true;
  return {};
}

/** One of the three tasks that every provider has. */
async function task(memory: MachineMemory, action: 'CREATE' | 'CONFIRM' | 'DELETE'): Promise<void> {
  const { name, uid, registration, account, payload, operation } = memory.state;
  if (account === undefined) throw new Error(`${name} has no account yet`);
  const id = operation?.id ?? '-';
  try {
    const { result } = await runTask(action, {
      taskId: taskId({ clusterUid: uid, nodeId: name, incarnation, action, operation: id }), clusterId: machineWorkflowId(name), clusterUid: uid, nodeId: name, incarnation,
      run: 1, operation: id, config: payload, cluster: {}, peersVersion: 0, peersOf: workflowInfo().workflowId,
      provider: { name: registration.provider, type: account.type, fields: registration.fields },
    }, { placement: { provider: registration.provider, type: account.type, site: account.site, flavor: account.flavor, image: account.image, fields: registration.fields } });
    change(memory, { payload: mergePayload(memory.state.payload, result ?? {}) });
  } catch (error) {
    const notDone = toNotDone(memory, action, error);
    const { result } = readTaskFailure(error, { taskId: id, action }, now());
    change(memory, { payload: mergePayload(memory.state.payload, machinePartOf(result)) });
    throw notDone;
  }
}

async function status(memory: MachineMemory, { image = memory.state.image }: MachineIntent & { readonly kind: 'status' }): Promise<OperationResult> {
  const outcome = await runAction(memory, 'NODE_STATUS', image === undefined ? {} : { order: { image } }).catch((error: unknown) => { throw toNotDone(memory, 'NODE_STATUS', error); });
  return outcome.status === undefined ? {} : { status: outcome.status };
}

async function power(memory: MachineMemory, { verb }: MachineIntent & { readonly kind: 'power' }): Promise<OperationResult> {
  const action = ({ on: 'POWER_ON', off: 'POWER_OFF', reset: 'POWER_RESET', status: 'POWER_STATUS' } as const)[verb];
  try {
    const outcome = await runAction(memory, action);
    return outcome.power === undefined ? {} : { power: outcome.power };
  } catch (error) {
    const why = toNotDone(memory, action, error);
    // It may have been switched off by a reset whose other half was lost.
    if (verb === 'reset' && why.answer === 'unknown') {
      await runAction(memory, 'POWER_ON').catch((second: unknown) => note(memory, toNotDone(memory, 'POWER_ON', second).message));
    }
    throw why;
  }
}

/** Marked before the user is told how to log in: from then on nobody can say that the image is untouched. */
async function logIn(memory: MachineMemory, user: string): Promise<OperationResult> {
  const { record } = await runAction(memory, 'TAINT', { order: { reason: `user ${user}` } }).catch((error: unknown) => { throw toNotDone(memory, 'TAINT', error); });
  happen(memory, 'log in');
  change(memory, { user });
  return record === undefined ? {} : { record };
}

async function move(memory: MachineMemory, intent: MachineIntent): Promise<OperationResult> {
  const event = openingEvents[intent.kind];
  if (event === undefined) throw new Error(`${intent.kind} moves nothing`);
  happen(memory, event, intent.kind === 'maintain' ? intent.reason : undefined);
  const { user: _user, ...state } = memory.state;
  memory.state = intent.kind === 'reserve' ? { ...state, user: intent.user } : intent.kind === 'maintain' ? memory.state : state;
  return {};
}
