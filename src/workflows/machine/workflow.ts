import { machineContract, type MachineReply, type MachineRequest } from '../../model/machine/contract.js';
import { bounds } from '../../model/bounds.js';
import { viewOfMachine } from '../../model/machine/view.js';
import { ApplicationFailure, workflowInfo, isCancellation } from '@temporalio/workflow';
import { accessFor } from '../../model/machine/access.js';
import { refusalOf, describeIntent, isUnfinished, unneededLoad } from '../../model/machine/decide.js';
import type { MachineIntent } from '../../model/machine/intents.js';
import type { MachineOperation, MachineState, Registration } from '../../model/machine/state.js';
import { refuseLargeIntent } from '../../model/machine/remember.js';
import { faultOf } from '../../model/machine/request.js';
import { machineWorkflowId } from '../../model/names.js';
import type { NamedMachine, Ownership } from '../../model/node/ownership.js';
import { change, now, newMemory, runEntity, type Message, type NextStep, handlersOf } from '../entity.js';
import { type MachineMemory, note } from './memory.js';
import { cancelOperation, operate } from './operate.js';
import { runOperation } from './operations.js';
import { checkMachine } from './periodic-check.js';
import { describeAccount } from './account.js';
import { ownershipInMachines } from './ownership.js';
import { requestUid } from '../taken-messages.js';
import type { Knowledge } from '../../model/machine/answer.js';
import type { ImageRef } from '../../model/machine/image.js';
import { toNotDone } from './failure.js';
import { can, runAction } from './run-step.js';

export type MachineInput =
  | { readonly registration: Registration; readonly uid: string; readonly by: string }
  | { readonly carried: MachineState };

/**
 * A standalone machine: it carries out operations one at a time while it is registered. Its workflow id makes
 * its name unique.
 */
export async function machine(input: MachineInput): Promise<string> {
  const memory: MachineMemory = { ...newMemory(), state: openState(input) };
  return runEntity(memory, {
    uid: memory.state.uid,
    messages: messagesOf(memory),
    step: () => act(memory),
    onCancel: () => cancelOperation(memory),
    carry: () => memory.state,
    bounds: bounds.machine,
    details: () => detailsOf(memory.state),
  });
}

/** Runs the requested operation, or the periodic check if it is due. */
async function act(memory: MachineMemory): Promise<NextStep> {
  const { operation } = memory.state;
  if (operation === undefined) return memory.isCheckDue === true ? runPeriodicCheck(memory) : {};
  await operate(memory, operation, async () => {
    await refreshAccount(memory, operation.intent);
    return runOperation(memory, operation);
  });
  const { name, account, history } = memory.state;
  if (memory.removed === true) return { ended: `machine ${name} is no longer registered` };
  if (account === undefined) {
    return { ended: `machine ${name} was not registered: ${history[0]?.failure?.message}` };
  }
  return {};
}

/** A correction is an operation like any other. */
async function runPeriodicCheck(memory: MachineMemory): Promise<NextStep> {
  delete memory.isCheckDue;
  // Its controller may have refused the login, and controllers lock accounts.
  if (isUnfinished(memory.state)) return {};
  memory.checking = true;
  const intent = await checkMachine(memory);
  delete memory.checking;
  if (intent !== undefined) accept(memory, { intent, by: 'a periodic check' });
  return {};
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
    name,
    uid,
    registration,
    state: 'enrolling',
    payload: {},
    history: [],
    operations: 1,
    measured: {},
    correct: registration.correct,
    groups: registration.groups,
    labels: registration.labels,
    operation: { id: '1', intent: { kind: 'register' }, by, state: 'running', startedAt: now(), notes: [] },
  };
}

function messagesOf(memory: MachineMemory): readonly Message[] {
  const ownerships = (machines: readonly NamedMachine[]): readonly Ownership[] =>
    machines.map((named) => ownershipInMachines(owned(memory), named));
  return handlersOf(machineContract, {
    updates: {
      operate: [
        (request) => accept(memory, request),
        (request) => {
          if (memory.removed === true) return 'the machine is no longer registered';
          if (askedBefore(memory, request) !== undefined) return undefined;
          return (
            faultOf(request.intent) ??
            refuseLargeIntent(memory.state.name, request.intent) ??
            refusalOf(memory.state, request.intent, request.holder)
          );
        },
      ],
      cancel: [
        (_request) => {
          const { operation } = memory.state;
          cancelOperation(memory);
          return { operation: operation?.id ?? '-' };
        },
        (_request) =>
          memory.state.operation === undefined
            ? `machine ${memory.state.name} has no running operation`
            : undefined,
      ],
      stopUnneeded: ({ key }) => {
        const what = unneededLoad(memory.state, key);
        if (what === 'stop') cancelOperation(memory);
        return what;
      },
      askImage: (image) => askImage(memory, image),
      disown: ownerships,
    },
    signals: {
      check: () => {
        // An operation under way observes more than a check would.
        if (memory.state.operation === undefined) memory.isCheckDue = true;
      },
    },
    queries: {
      status: () => ({
        ...viewOfMachine(memory.state),
        ...(memory.removed === true ? { removed: true as const } : {}),
      }),
      access: (request) => accessFor(memory.state, request?.reservation),
      payload: () => memory.state.payload,
      owners: ownerships,
    },
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
  // A request does not wait for a check.
  if (memory.checking === true) memory.scope?.cancel();
  const id = String(memory.state.operations + 1);
  change(memory, {
    operations: memory.state.operations + 1,
    operation: { id, uid: requestUid(), intent, by, state: 'running', startedAt: now(), notes: [], key },
  });
  return { operation: id };
}

function owned({ state, removed }: MachineMemory): readonly MachineState[] {
  return removed === true ? [] : [state];
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
      : [`- ${describeIntent(operation.intent)} by ${operation.by}, since ${operation.startedAt}`]),
    ...(last === undefined
      ? []
      : [
          `- before: ${describeIntent(last.intent)}, ${last.state}${last.failure === undefined ? '' : `: ${last.failure.message}`}`,
        ]),
  ].join('\n');
}

/** Longest time for the question, in ms: then the caller decides without the answer. */
const patienceMs = 20_000;

/**
 * Asks the machine's provider for an image. This changes nothing, so it is not an operation and
 * waits for none.
 */
async function askImage(memory: MachineMemory, image: ImageRef): Promise<Knowledge> {
  if (!can(memory, 'IMAGE_EXISTS')) return { is: 'unknown', why: 'its provider cannot report this' };
  try {
    const { exists } = await runAction(memory, 'IMAGE_EXISTS', { order: { image }, leftMs: patienceMs });
    // One that can be fetched from elsewhere need not be here.
    return exists?.is === 'no' && can(memory, 'RETRIEVE_IMAGE')
      ? { is: 'unknown', why: 'it may be fetched from elsewhere' }
      : (exists ?? { is: 'unknown', why: 'its provider did not report this' });
  } catch (error) {
    return { is: 'unknown', why: toNotDone(memory, 'IMAGE_EXISTS', error).message };
  }
}

/** Operations that call the provider. */
const asksProvider: readonly MachineIntent['kind'][] = [
  'status',
  'power',
  'boot',
  'load',
  'capture',
  'unload',
  'retry',
];

/**
 * Applies the present settings of the machine's account: heddle.yaml, or the build of the
 * workers, may have changed since its registration.
 */
async function refreshAccount(memory: MachineMemory, { kind }: MachineIntent): Promise<void> {
  if (!asksProvider.includes(kind)) return;
  const { registration, account: before } = memory.state;
  try {
    const account = await describeAccount(registration);
    // Another type of provider cannot have this machine.
    if (account.type === before?.type) change(memory, { account });
  } catch (error) {
    if (isCancellation(error)) throw error;
    note(
      memory,
      `the previous settings of its account stay in effect: ${toNotDone(memory, 'CREATE', error).message}`,
    );
  }
}
