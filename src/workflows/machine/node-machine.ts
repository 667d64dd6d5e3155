import { nodeMachineContract } from '../../model/machine/contract.js';
import { bounds } from '../../model/bounds.js';
import { viewOfMachine } from '../../model/machine/view.js';
import type { MachineView } from '../../schema/output/machine.js';
import { ApplicationFailure, CancellationScope, workflowInfo } from '@temporalio/workflow';
import { workflowOfNode, type FoundNode } from '../../model/image/node.js';
import { describeNode } from '../../model/image/spec.js';
import { clusterMessages } from '../messages.js';
import type { ReleaseRequest } from '../../model/cluster/contract.js';
import { refusalOf, describeIntent } from '../../model/machine/decide.js';
import type { MachineOperation, MachineState } from '../../model/machine/state.js';
import type { OperationResult } from '../../model/machine/messages.js';
import type { NodeIntent } from '../../model/machine/intents.js';
import {
  isReadOnly,
  mainAction,
  nodeName,
  rewrites,
  type NodeMachineInput,
} from '../../model/machine/node-machine.js';
import { machineWorkflowId, nodeOperationId } from '../../model/names.js';
import { change, now, newMemory, runEntity, type Message, handlersOf } from '../entity.js';
import { schedule } from '../schedule.js';
import { signalIfThere } from '../signal-if-there.js';
import { refuse, toNotDone } from './failure.js';
import { machineOfNode } from './account.js';
import { note, type MachineMemory } from './memory.js';
import { cancelOperation, operate } from './operate.js';
import { runOperation } from './operations.js';
import { runAction } from './run-step.js';

/**
 * One operation on the machine of a node of a cluster or of a pool. An operation that changes the machine
 * needs the node exclusively: a cluster lends it and always gets it back; a node of a pool is held by people.
 * The workflow id prevents a second operation.
 */
export async function nodeMachine(input: NodeMachineInput): Promise<MachineView> {
  const { runId } = workflowInfo();
  const state = openState(input, nodeOperationId(runId));
  const memory: MachineMemory = { ...newMemory(), state };
  const leased: Leased = { leaseId: runId, has: false };
  const view = (): MachineView => ({ ...viewOfMachine(memory.state), name: nodeName(input.node) });
  return runEntity(memory, {
    messages: messagesOf(memory, leased, view),
    step: async () => {
      if (state.operation !== undefined) await carryOutOnNode(memory, input, leased, state.operation);
      return { ended: view() };
    },
    onCancel: () => cancelOperation(memory),
    carry: () => undefined,
    bounds: bounds.machine,
    details: () => `**${describeIntent(input.intent)}** on ${describeNode(input.node)} by ${input.by}`,
  });
}

async function carryOutOnNode(
  memory: MachineMemory,
  input: NodeMachineInput,
  leased: Leased,
  operation: MachineOperation,
): Promise<void> {
  await operate(memory, operation, async () => {
    let result: OperationResult = {};
    try {
      await open(memory, input, leased);
      result = await runOperation(memory, operation);
      if (input.intent.kind === 'capture' && input.intent.prove)
        note(memory, 'it was not verified: that would overwrite the disk of the node');
      return result;
    } finally {
      // Before the result is visible: the next request must find the node with its owner.
      await CancellationScope.nonCancellable(() => release(memory, input, { leased, result }));
    }
  });
}

/** The automator of the machine's system: nodes run Unix. */
const system = 'linux';

interface Leased {
  readonly leaseId: string;
  /** A lease was requested, so it may have been granted, and is not released. */
  has: boolean;
}

function messagesOf(memory: MachineMemory, leased: Leased, view: () => MachineView): readonly Message[] {
  return handlersOf(nodeMachineContract, {
    updates: {
      cancel: (_request) => {
        const { operation } = memory.state;
        cancelOperation(memory);
        return { operation: operation?.id ?? '-' };
      },
    },
    queries: {
      status: view,
      payload: () => memory.state.payload,
      leased: (leaseId) => leased.has && leaseId === leased.leaseId,
    },
  });
}

async function release(
  memory: MachineMemory,
  input: NodeMachineInput,
  { leased, result }: { readonly leased: Leased; readonly result: OperationResult },
): Promise<void> {
  const end = await settleMachine(memory, input, result);
  if (leased.has && input.node.of === 'cluster')
    await signalIfThere(workflowOfNode(input.node), clusterMessages.signals.release, {
      leaseId: leased.leaseId,
      ...end,
    });
  leased.has = false;
}

function openState(input: NodeMachineInput, id: string): MachineState {
  const { node, intent, by } = input;
  if (workflowInfo().workflowId !== machineWorkflowId(nodeName(node)))
    throw ApplicationFailure.nonRetryable('the workflow id is not that of the node', 'Invalid');
  return {
    name: node.node,
    uid: '',
    registration: { provider: '', flavor: '', image: '', fields: {}, system },
    state: 'in use',
    payload: {},
    history: [],
    operations: 1,
    measured: {},
    operation: {
      id,
      intent: intent.kind === 'capture' ? { ...intent, prove: false } : intent,
      by,
      state: 'running',
      startedAt: now(),
      notes: [],
    } satisfies MachineOperation,
  };
}

/**
 * Finds the node, leases it if necessary, and checks that its provider can do the operation.
 * @throws NotDone
 */
async function open(
  memory: MachineMemory,
  { node, intent }: NodeMachineInput,
  leased: Leased,
): Promise<void> {
  const action = mainAction(intent);
  if (node.of === 'pool' && rewrites(intent)) {
    refuse(
      memory,
      action,
      'not done',
      `${describeNode(node)}: a node of a pool is replaced instead of rewritten: run heddle pool delete ${node.name} ${node.node}`,
    );
  }
  try {
    change(memory, await machineOfNode(await find(node, intent, leased), system));
  } catch (error) {
    throw toNotDone(memory, action, error);
  }
  const { operation: _operation, ...idle } = memory.state;
  const refusal = refusalOf(idle, intent);
  if (refusal !== undefined) refuse(memory, action, 'not done', refusal);
}

async function find(node: NodeMachineInput['node'], intent: NodeIntent, leased: Leased): Promise<FoundNode> {
  if (isReadOnly(intent))
    return schedule('FIND_NODE', { node }, { summary: `FIND_NODE ${node.node} of ${node.name}` });
  // Recorded first: the lender may ask whether the node is still in use.
  leased.has = true;
  return schedule('LEASE_NODE', {
    node,
    leaseId: leased.leaseId,
    to: workflowInfo().workflowId,
    ...(rewrites(intent) ? { rewrites: true } : {}),
  });
}

/** What the lender of the node has to do next. */
async function settleMachine(
  memory: MachineMemory,
  { intent }: NodeMachineInput,
  { did }: OperationResult,
): Promise<Omit<ReleaseRequest, 'leaseId'>> {
  const { state, account, payload, half, operation } = memory.state;
  if (account === undefined || isReadOnly(intent)) return { repair: false };
  const repeatsSteps = intent.kind === 'load' && intent.only !== undefined;
  if (half !== undefined || (state === 'failed' && !repeatsSteps)) return { repair: false, broken: true };
  if (rewrites(intent) && state === 'available' && did !== 'post-load')
    return { repair: false, rewritten: payload };
  const goesOff = intent.kind === 'power' && intent.verb === 'off';
  // Steps after loading that failed or were cut off, also in a load that wrote nothing: what
  // they left undone is unknown.
  const unfinished = state === 'failed' || (memory.postLoadBegun === true && did === undefined);
  const disturbed = memory.offByUs === true || intent.kind === 'power' || unfinished;
  if (goesOff || !disturbed) return { repair: false };
  try {
    await runAction(memory, 'REACH');
    return { repair: true };
  } catch (error) {
    const { message } = toNotDone(memory, 'REACH', error);
    if (operation !== undefined) note(memory, `it does not answer: ${message}`);
    return { repair: false };
  }
}
