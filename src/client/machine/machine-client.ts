import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { WorkflowExecutionAlreadyStartedError, type Client, type WorkflowHandle } from '@temporalio/client';
import { describeNode, type NodeRef } from '../../model/image/spec.js';
import {
  isMachineName,
  isNodeIntent,
  nodeIntents,
  nodeName,
  parseNodeName,
  type NodeMachineInput,
} from '../../model/machine/node-machine.js';
import { faultOf } from '../../model/machine/request.js';
import type {
  MachineIntent,
  MachineOperation,
  MachineView,
  Registration,
} from '../../model/machine/state.js';
import {
  coreQueue,
  machineWorkflowId,
  machineWorkflowType,
  nodeMachineWorkflowType,
  nodeOperationId,
} from '../../model/names.js';
import type { JsonObject } from '../../model/json.js';
import type { MachineAccess } from '../../model/machine/access.js';
import { payloadQuery } from '../../workflows/cluster/messages.js';
import {
  accessQuery,
  cancelMachineUpdate,
  machineQuery,
  operateMachineUpdate,
  type MachineReply,
} from '../../workflows/machine/messages.js';
import type { MachineInput } from '../../workflows/machine/workflow.js';
import { call } from '../call.js';
import { HeddleError } from '../errors.js';
import { listMachineNames } from './list.js';

/** What one asks of a machine that is registered. */
export type MachineRequestIntent = Exclude<MachineIntent, { readonly kind: 'register' }>;

export interface MachineWaitOptions {
  /** Between looks, in ms; 400 unless given. */
  readonly everyMs?: number;
  readonly signal?: AbortSignal;
  readonly onView?: (view: MachineView) => void;
  /** Longest silence of server and workers that is waited out, in ms; 5 minutes unless given. */
  readonly patienceMs?: number;
}

/** Machines that are registered by themselves. */
export class MachineClient {
  readonly #temporal: Client;
  readonly #by: string;

  constructor(temporal: Client, by: string) {
    this.#temporal = temporal;
    this.#by = by;
  }

  /**
   * Registers a machine; returns as soon as the request is accepted, as operation 1.
   * @throws HeddleError Refused when there is one of this name.
   */
  async add(name: string, registration: Registration): Promise<MachineReply> {
    if (!isMachineName(name))
      throw new HeddleError(
        'Invalid',
        `"${name}" is no name of a machine: lower-case letters, digits and hyphens, at most 50`,
      );
    const input: MachineInput = { registration, uid: randomUUID(), by: this.#by };
    const workflowId = machineWorkflowId(name);
    await call(this.#temporal, `add machine ${name}`, async () => {
      try {
        await this.#temporal.workflow.start(machineWorkflowType, {
          workflowId,
          taskQueue: coreQueue,
          args: [input],
          workflowIdConflictPolicy: 'FAIL',
          workflowIdReusePolicy: 'ALLOW_DUPLICATE',
          staticSummary: `machine ${name}`,
        });
      } catch (error) {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
        throw new HeddleError(
          'Refused',
          `there is a machine ${name} already; 'heddle machine show ${name}' shows it`,
          { cause: error },
        );
      }
    });
    return { operation: '1' };
  }

  /**
   * Asks for an operation on a machine, or on that of a node: `web/app-1` of a cluster, `pool/ci/small-1` of
   * a pool.
   * @throws HeddleError Refused when the machine is busy, or its state does not allow it.
   */
  async operate(name: string, intent: MachineRequestIntent): Promise<MachineReply> {
    const fault = faultOf(intent);
    if (fault !== undefined) throw new HeddleError('Invalid', `${intent.kind} ${name}: ${fault}`);
    const node = parseNodeName(name);
    if (node !== undefined) return this.#operateNode(node, intent);
    return this.#ask(name, intent.kind, (handle) =>
      handle.executeUpdate(operateMachineUpdate, { args: [{ intent, by: this.#by }] }),
    );
  }

  async #operateNode(node: NodeRef, intent: MachineRequestIntent): Promise<MachineReply> {
    const name = nodeName(node);
    if (!isNodeIntent(intent))
      throw new HeddleError(
        'Invalid',
        `${describeNode(node)} is ${node.of === 'cluster' ? "the cluster's" : "the pool's"}: of its machine one can ask ${nodeIntents.join(', ')}`,
      );
    const input: NodeMachineInput = { node, intent, by: this.#by };
    return call(this.#temporal, `${intent.kind} ${name}`, async () => {
      try {
        const { firstExecutionRunId } = await this.#temporal.workflow.start(nodeMachineWorkflowType, {
          workflowId: machineWorkflowId(name),
          taskQueue: coreQueue,
          args: [input],
          workflowIdConflictPolicy: 'FAIL',
          workflowIdReusePolicy: 'ALLOW_DUPLICATE',
          staticSummary: `machine of ${describeNode(node)}`,
        });
        return { operation: nodeOperationId(firstExecutionRunId) };
      } catch (error) {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
        throw new HeddleError(
          'Refused',
          `the machine of ${describeNode(node)} is busy; one operation at a time, 'heddle machine show ${name}' shows it, 'heddle machine cancel ${name}' ends it`,
          { cause: error },
        );
      }
    });
  }

  /** Ends the operation under way. A load that has begun to write leaves the machine failed. */
  async cancel(name: string): Promise<MachineReply> {
    return this.#ask(name, 'cancel', (handle) =>
      handle.executeUpdate(cancelMachineUpdate, { args: [{ by: this.#by }] }),
    );
  }

  async show(name: string): Promise<MachineView> {
    return this.#ask(name, 'show', (handle) => handle.query(machineQuery));
  }

  /**
   * How the user logs in that `reservation`, or an administrator, let in. Null where the machine is open to
   * nobody, or to the user of another reservation.
   */
  async access(name: string, reservation?: string): Promise<MachineAccess | null> {
    const request = reservation === undefined ? {} : { reservation };
    return this.#ask(name, 'log-in', (handle) => handle.query(accessQuery, request));
  }

  /** All that is known of it, the machine's own credentials included: for administrators. */
  async payload(name: string): Promise<JsonObject> {
    return (await this.#ask(name, 'payload', (handle) => handle.query(payloadQuery, name))) ?? {};
  }

  /** Machines that are registered now; one whose workflow does not answer is left out, and named. */
  async list(): Promise<{ readonly machines: readonly MachineView[]; readonly silent: readonly string[] }> {
    const names = await call(this.#temporal, 'list machines', () => listMachineNames(this.#temporal));
    const seen = await Promise.all(names.map((name) => this.show(name).catch(() => name)));
    return {
      machines: seen.filter((one) => typeof one !== 'string'),
      silent: seen.filter((one) => typeof one === 'string'),
    };
  }

  /**
   * Waits until an operation has ended.
   * @throws HeddleError NotFound when the machine remembers none of this id.
   */
  async waitFor(
    name: string,
    id: string,
    { everyMs = 400, signal, onView, patienceMs = 5 * 60_000 }: MachineWaitOptions = {},
  ): Promise<{ readonly operation: MachineOperation; readonly machine: MachineView }> {
    for (let answeredAt = Date.now(); ;) {
      try {
        const machine = await this.show(name);
        answeredAt = Date.now();
        onView?.(machine);
        const ended = machine.history.find((operation) => operation.id === id);
        if (ended !== undefined) return { operation: ended, machine };
        if (machine.operation?.id !== id)
          throw new HeddleError('NotFound', `machine ${name} remembers no operation ${id}`, {
            next: `heddle machine show ${name}`,
          });
      } catch (error) {
        const passing =
          error instanceof HeddleError && (error.code === 'NoWorker' || error.code === 'NoServer');
        if (!passing || Date.now() - answeredAt > patienceMs) throw error;
      }
      await pause(everyMs, undefined, signal === undefined ? {} : { signal });
    }
  }

  async #ask<Result>(
    name: string,
    what: string,
    ask: (handle: WorkflowHandle) => Promise<Result>,
  ): Promise<Result> {
    const node = parseNodeName(name);
    if (node === undefined && !isMachineName(name))
      throw new HeddleError(
        'Invalid',
        `"${name}" is no name of a machine, nor of a node: NAME, CLUSTER/NODE or pool/POOL/NODE, in lower-case letters, digits and hyphens`,
        { next: 'heddle machine list' },
      );
    try {
      return await call(this.#temporal, `${what} ${name}`, () =>
        ask(this.#temporal.workflow.getHandle(machineWorkflowId(name))),
      );
    } catch (error) {
      if (!(error instanceof HeddleError) || error.code !== 'NotFound') throw error;
      if (node !== undefined)
        throw new HeddleError('NotFound', `nothing was done on the machine of ${describeNode(node)} lately`, {
          cause: error,
          next: `heddle machine status ${name}`,
        });
      throw new HeddleError(
        'NotFound',
        `there is no machine ${name}; 'heddle machine list' shows those there are`,
        { cause: error, next: 'heddle machine list' },
      );
    }
  }
}
