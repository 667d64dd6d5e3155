import {
  allHandlersFinished,
  ApplicationFailure,
  CancellationScope,
  condition,
  continueAsNew,
  setCurrentDetails,
  setHandler,
  upsertMemo,
  workflowInfo,
} from '@temporalio/workflow';
import { accessFor } from '../../model/machine/access.js';
import { refusalOf, wordsOf } from '../../model/machine/accept.js';
import {
  viewOfMachine,
  type MachineOperation,
  type MachineState,
  type Registration,
} from '../../model/machine/machine.js';
import { faultOf } from '../../model/machine/request.js';
import { machineWorkflowId } from '../../model/names.js';
import { disownUpdate, ownersQuery, payloadQuery, roundSignal } from '../messages.js';
import { noCheck } from '../no-check.js';
import { askImage } from './ask-image.js';
import { change, now, type MachineMemory } from './memory.js';
import {
  accessQuery,
  askImageUpdate,
  cancelMachineUpdate,
  machineQuery,
  operateMachineUpdate,
  type MachineReply,
  type MachineRequest,
} from './messages.js';
import { cancelOperation, operate } from './operate.js';
import { carryOut } from './operations.js';
import { lookAtItself } from './round.js';
import { ownershipOf } from './ownership.js';

export type MachineInput =
  | { readonly registration: Registration; readonly uid: string; readonly by: string }
  | { readonly carried: MachineState };

/**
 * A machine that is registered by itself: it takes operations one at a time, for as long as it is registered.
 * Its workflow id is what keeps a second one away.
 */
export async function machine(input: MachineInput): Promise<string> {
  const cancelled = CancellationScope.current().cancelRequested;
  // Ending the workflow would leave its machine behind, so cancelling it from outside cancels the operation
  // under way.
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
    await condition(() => memory.state.operation !== undefined || isWorn(memory) || memory.round === true);
    const { operation } = memory.state;
    if (operation === undefined && memory.round === true) {
      await goRound(memory);
      continue;
    }
    if (operation === undefined) return carryOn(memory);
    setCurrentDetails(detailsOf(memory.state));
    await operate(memory, operation, () => carryOut(memory, operation));
    const { name, account, history } = memory.state;
    if (memory.removed === true || account === undefined) {
      // Whoever waits for the end asks the workflow, also when it has ended.
      await condition(() => allHandlersFinished());
      return memory.removed === true
        ? `machine ${name} is no longer registered`
        : `machine ${name} was not registered: ${history[0]?.failure?.message}`;
    }
  }
}

/** What is to be done is an operation like any other. */
async function goRound(memory: MachineMemory): Promise<void> {
  delete memory.round;
  memory.looking = true;
  const intent = await lookAtItself(memory);
  delete memory.looking;
  if (intent !== undefined) accept(memory, { intent, by: 'a round' });
}

function openState(input: MachineInput): MachineState {
  if ('carried' in input) return input.carried;
  const name = workflowInfo().workflowId.replace(/^machine\//, '');
  if (workflowInfo().workflowId !== machineWorkflowId(name)) {
    throw ApplicationFailure.nonRetryable(
      `a machine is registered by 'heddle machine add', and its workflow id is machine/<name>`,
      'Invalid',
    );
  }
  const { registration, uid, by } = input;
  return {
    stateVersion: 1,
    name,
    uid,
    registration,
    state: 'reloading',
    payload: {},
    history: [],
    operations: 1,
    measured: {},
    correct: registration.correct,
    operation: { id: '1', intent: { kind: 'register' }, by, state: 'running', startedAt: now(), notes: [] },
  };
}

function handleMessages(memory: MachineMemory): void {
  setHandler(operateMachineUpdate, (request) => accept(memory, request), {
    validator: (request) => {
      const refusal =
        memory.removed === true
          ? 'the machine is no longer registered'
          : askedBefore(memory, request) === undefined
            ? (faultOf(request.intent) ?? refusalOf(memory.state, request.intent, request.holder))
            : undefined;
      if (refusal !== undefined) throw ApplicationFailure.nonRetryable(refusal, 'Refused');
    },
    description: 'Status, power, load, capture, unload, reserve, maintain, remove.',
  });
  setHandler(
    cancelMachineUpdate,
    (_request) => {
      const { operation } = memory.state;
      cancelOperation(memory);
      return { operation: operation?.id ?? '-' };
    },
    {
      validator: (_request) => {
        if (memory.state.operation === undefined)
          throw ApplicationFailure.nonRetryable(`machine ${memory.state.name} is doing nothing`, 'Refused');
      },
      description: 'End the operation under way.',
    },
  );
  setHandler(askImageUpdate, (image) => askImage(memory, image), {
    validator: noCheck,
    description: 'Is there such an image for it?',
  });
  setHandler(
    roundSignal,
    () => {
      // What it does now says more than a look would.
      if (memory.state.operation === undefined) memory.round = true;
    },
    { description: 'Is it as it should be?' },
  );
  setHandler(
    machineQuery,
    () => ({
      ...viewOfMachine(memory.state),
      ...(memory.removed === true ? { removed: true as const } : {}),
    }),
    { description: 'Where it stands, what it does and did; without secrets.' },
  );
  setHandler(accessQuery, (request) => accessFor(memory.state, request?.reservation), {
    description: 'How its user logs in.',
  });
  setHandler(payloadQuery, () => memory.state.payload, {
    description: 'All that is known of it, credentials included.',
  });
  setHandler(ownersQuery, (machines) => machines.map((named) => ownershipOf(owned(memory), named)), {
    description: 'Whose machines are these?',
  });
  setHandler(disownUpdate, (machines) => machines.map((named) => ownershipOf(owned(memory), named)), {
    validator: noCheck,
    description: 'Say whose machines these are.',
  });
}

/** The operation that the same request began when it came first. */
function askedBefore(
  { state: { operation, history } }: MachineMemory,
  { key }: MachineRequest,
): MachineOperation | undefined {
  return key === undefined
    ? undefined
    : [...(operation === undefined ? [] : [operation]), ...history].find((known) => known.key === key);
}

function accept(memory: MachineMemory, request: MachineRequest): MachineReply {
  const before = askedBefore(memory, request);
  if (before !== undefined) return { operation: before.id };
  const { intent, by, key } = request;
  // Whoever asks does not wait for a look.
  if (memory.looking === true) memory.scope?.cancel();
  const id = String(memory.state.operations + 1);
  change(memory, {
    operations: memory.state.operations + 1,
    operation: { id, intent, by, state: 'running', startedAt: now(), notes: [], key },
  });
  return { operation: id };
}

function owned({ state, removed }: MachineMemory): readonly MachineState[] {
  return removed === true ? [] : [state];
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
    `**${name}** is ${state}${why === undefined ? '' : `: ${why}`}`,
    '',
    `- provider ${registration.provider}`,
    `- image ${image === undefined ? 'not known' : `${image.name}@${image.revision}, since ${image.since}`}`,
    ...(operation === undefined
      ? []
      : [`- ${wordsOf(operation.intent)} by ${operation.by}, since ${operation.startedAt}`]),
    ...(last === undefined
      ? []
      : [
          `- before: ${wordsOf(last.intent)}, ${last.state}${last.failure === undefined ? '' : `: ${last.failure.message}`}`,
        ]),
  ].join('\n');
}
