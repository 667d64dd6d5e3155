import { allHandlersFinished, ApplicationFailure, CancellationScope, condition, continueAsNew, isCancellation, setCurrentDetails, setHandler, upsertMemo, workflowInfo } from '@temporalio/workflow';
import { refusalOf, wordsOf } from '../../model/machine/accept.js';
import { viewOfMachine, type MachineOperation, type MachineState, type Registration } from '../../model/machine/machine.js';
import { machineWorkflowId, readMachineKey } from '../../model/names.js';
import type { NamedMachine, Ownership } from '../../model/ownership.js';
import { disownUpdate, ownersQuery, payloadQuery } from '../messages.js';
import { NotDone } from './failure.js';
import { change, changeOperation, endOperation, now, type MachineMemory } from './memory.js';
import { cancelMachineUpdate, machineQuery, operateMachineUpdate, type MachineReply, type MachineRequest } from './messages.js';
import { carryOut } from './operations.js';
import { incarnation } from './run-step.js';

export type MachineInput = { readonly registration: Registration; readonly uid: string; readonly by: string } | { readonly carried: MachineState };

/**
 * A machine that is registered by itself: it takes operations one at a time, for as long as it is registered. Its workflow id
 * is what keeps a second one away.
 */
export async function machine(input: MachineInput): Promise<string> {
  const cancelled = CancellationScope.current().cancelRequested;
  // Ending the workflow would leave its machine behind, so cancelling it from outside cancels the operation under way.
  return CancellationScope.nonCancellable(() => live(input, cancelled));
}

async function live(input: MachineInput, cancelled: Promise<never>): Promise<string> {
  const memory: MachineMemory = { state: openState(input) };
  upsertMemo({ heddleUid: memory.state.uid });
  handleMessages(memory);
  cancelled.catch(() => {
    memory.renew = true;
    cancelOperation(memory);
  });
  for (;;) {
    setCurrentDetails(detailsOf(memory.state));
    await condition(() => memory.state.operation !== undefined || isWorn(memory));
    const { operation } = memory.state;
    if (operation === undefined) return carryOn(memory);
    setCurrentDetails(detailsOf(memory.state));
    await operate(memory, operation);
    const { name, account, history } = memory.state;
    if (memory.removed === true || account === undefined) {
      // Whoever waits for the end asks the workflow, also when it has ended.
      await condition(() => allHandlersFinished());
      return memory.removed === true ? `machine ${name} is no longer registered` : `machine ${name} was not registered: ${history[0]?.failure?.message}`;
    }
  }
}

async function operate(memory: MachineMemory, operation: MachineOperation): Promise<void> {
  const scope = new CancellationScope({ cancellable: true });
  memory.scope = scope;
  delete memory.offByUs;
  if (memory.cancelled === true) scope.cancel();
  try {
    const result = await scope.run(() => carryOut(memory, operation));
    const { operation: now } = memory.state;
    endOperation(memory, { state: 'done', answer: 'done', result: { ...now?.result, ...result } });
  } catch (error) {
    if (operation.intent.kind === 'register' && memory.state.account !== undefined) change(memory, { state: 'failed', why: error instanceof Error ? error.message : 'it was not registered' });
    if (error instanceof NotDone) endOperation(memory, { state: 'failed', answer: error.answer, failure: error.failure });
    else if (isCancellation(error)) endOperation(memory, { state: 'cancelled', answer: 'unknown' });
    else throw error;
  } finally {
    delete memory.scope;
    delete memory.cancelled;
  }
}

function openState(input: MachineInput): MachineState {
  if ('carried' in input) return input.carried;
  const name = workflowInfo().workflowId.replace(/^machine\//, '');
  if (workflowInfo().workflowId !== machineWorkflowId(name) || typeof input?.uid !== 'string') {
    throw ApplicationFailure.nonRetryable(`a machine is registered by 'heddle machine add', and its workflow id is machine/<name>`, 'Invalid');
  }
  const { registration, uid, by } = input;
  return {
    stateVersion: 1, name, uid, registration, state: 'reloading', payload: {}, history: [], operations: 1, measured: {},
    operation: { id: '1', intent: { kind: 'register' }, by, state: 'running', startedAt: now(), notes: [] },
  };
}

function handleMessages(memory: MachineMemory): void {
  setHandler(operateMachineUpdate, (request) => accept(memory, request), {
    validator: (request) => {
      const refusal = memory.removed === true ? 'the machine is no longer registered' : refusalOf(memory.state, request.intent);
      if (refusal !== undefined) throw ApplicationFailure.nonRetryable(refusal, 'Refused');
    },
    description: 'Status, power, load, capture, unload, reserve, maintain, remove.',
  });
  setHandler(cancelMachineUpdate, (_request) => {
    const { operation } = memory.state;
    cancelOperation(memory);
    return { operation: operation?.id ?? '-' };
  }, {
    validator: (_request) => {
      if (memory.state.operation === undefined) throw ApplicationFailure.nonRetryable(`machine ${memory.state.name} is doing nothing`, 'Refused');
    },
    description: 'End the operation under way.',
  });
  setHandler(machineQuery, () => viewOfMachine(memory.state), { description: 'Where it stands, what it does and did; without secrets.' });
  setHandler(payloadQuery, () => memory.state.payload, { description: 'All that is known of it, credentials included.' });
  setHandler(ownersQuery, (machines) => machines.map((named) => ownershipOf(memory, named)), { description: 'Whose machines are these?' });
  setHandler(disownUpdate, (machines) => machines.map((named) => ownershipOf(memory, named)), { description: 'Say whose machines these are.' });
}

function accept(memory: MachineMemory, { intent, by }: MachineRequest): MachineReply {
  const id = String(memory.state.operations + 1);
  change(memory, { operations: memory.state.operations + 1, operation: { id, intent, by, state: 'running', startedAt: now(), notes: [] } });
  return { operation: id };
}

function cancelOperation(memory: MachineMemory): void {
  if (memory.state.operation === undefined) return;
  memory.cancelled = true;
  changeOperation(memory, { notes: [...memory.state.operation.notes, 'it is being cancelled'] });
  memory.scope?.cancel();
}

/** It has one key for ever, so no key that it is asked of is ever its own later. */
function ownershipOf({ state, removed }: MachineMemory, { key }: NamedMachine): Ownership {
  const named = readMachineKey(key);
  const mine = named?.clusterUid === state.uid && named.nodeId === state.name && named.incarnation === incarnation;
  if (!mine || removed === true) return { is: 'free' };
  const { providerid } = state.payload;
  return { is: 'mine', ...(typeof providerid === 'string' ? { providerid } : {}) };
}

function isWorn(memory: MachineMemory): boolean {
  return (workflowInfo().continueAsNewSuggested || memory.renew === true) && allHandlersFinished();
}

async function carryOn({ state }: MachineMemory): Promise<never> {
  return continueAsNew<typeof machine>({ carried: state });
}

function detailsOf({ name, state, why, registration, image, operation, history }: MachineState): string {
  const last = history[0];
  return [
    `**${name}** is ${state}${why === undefined ? '' : `: ${why}`}`, '', `- provider ${registration.provider}`,
    `- image ${image === undefined ? 'not known' : `${image.name}@${image.revision}, since ${image.since}`}`,
    ...(operation === undefined ? [] : [`- ${wordsOf(operation.intent)} by ${operation.by}, since ${operation.startedAt}`]),
    ...(last === undefined ? [] : [`- before: ${wordsOf(last.intent)}, ${last.state}${last.failure === undefined ? '' : `: ${last.failure.message}`}`]),
  ].join('\n');
}
