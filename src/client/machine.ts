import { randomUUID } from 'node:crypto';
import type { MachineView } from '../schema/output/machine.js';
import { WorkflowExecutionAlreadyStartedError, type Client, type WorkflowHandle } from '@temporalio/client';
import { workflowOfNode } from '../model/image/node.js';
import { describeNode, type NodeRef } from '../model/image/spec.js';
import type { JsonObject } from '../model/json.js';
import type { MachineAccess } from '../model/machine/access.js';
import { nodeIntents, type MachineRequestIntent } from '../model/machine/intents.js';
import type { MachineOperation, Registration } from '../model/machine/state.js';
import {
  isMachineName,
  isNodeIntent,
  nodeName,
  parseNodeName,
  type NodeMachineInput,
} from '../model/machine/node-machine.js';
import { faultOf } from '../model/machine/request.js';
import { tagFault } from '../model/machine/selection.js';
import {
  claimsWorkflowId,
  workflowQueue,
  machineWorkflowId,
  machineWorkflowType,
  nodeMachineWorkflowType,
  nodeOperationId,
  runsOf,
} from '../model/names.js';
import type { MachineInput } from '../workflows/machine/workflow.js';
import { claimsMessages, clusterMessages, machineMessages, poolMessages } from '../workflows/messages.js';
import type { MachineReply } from '../model/machine/contract.js';
import { call } from './call.js';
import { EntityClient, waitUntil, type WaitUntilOptions } from './entity-client.js';
import { HeddleError } from './errors.js';
import { read } from './read.js';

/** Standalone machines, and the machines of cluster and pool nodes. */
export class MachineClient extends EntityClient {
  constructor(temporal: Client, by: string) {
    const listCommand = 'heddle machine list';
    super(
      temporal,
      { noun: 'machine', workflowType: machineWorkflowType, workflowId: machineWorkflowId, listCommand },
      by,
    );
  }

  /**
   * Registers a machine; returns as soon as the request is accepted, as operation 1.
   * @throws HeddleError Refused when the name is taken.
   */
  async add(name: string, registration: Registration): Promise<MachineReply> {
    if (!isMachineName(name))
      throw new HeddleError(
        'Invalid',
        `"${name}" is not a valid machine name: use lower-case letters, digits and hyphens, at most 50 characters`,
      );
    const fault = tagFault(registration);
    if (fault !== undefined) throw new HeddleError('Invalid', `add machine ${name}: ${fault}`);
    const input: MachineInput = { registration, uid: randomUUID(), by: this.by };
    await this.#start(`add machine ${name}`, machineWorkflowType, name, input, {
      summary: `machine ${name}`,
      taken: `machine ${name} already exists; run 'heddle machine show ${name}' to see it`,
    });
    return { operation: '1' };
  }

  /**
   * Starts an operation on a machine, or on the machine of a node: `web/app-1` of a cluster,
   * `pool/ci/small-1` of a pool.
   * @throws HeddleError Refused when the machine is busy, or its state does not allow the operation.
   */
  async operate(name: string, intent: MachineRequestIntent): Promise<MachineReply> {
    const fault = faultOf(intent);
    if (fault !== undefined) throw new HeddleError('Invalid', `${intent.kind} ${name}: ${fault}`);
    const node = parseNodeName(name);
    if (node !== undefined) return this.#operateNode(node, intent);
    return this.update(intent.kind, name, machineMessages.updates.operate, { intent, by: this.by });
  }

  async #operateNode(node: NodeRef, intent: MachineRequestIntent): Promise<MachineReply> {
    const name = nodeName(node);
    if (!isNodeIntent(intent))
      throw new HeddleError(
        'Invalid',
        `${describeNode(node)} belongs to the ${node.of}: its machine accepts only ${nodeIntents.join(', ')}`,
      );
    await this.#requireNode(node);
    const input: NodeMachineInput = { node, intent, by: this.by };
    const runId = await this.#start(`${intent.kind} ${name}`, nodeMachineWorkflowType, name, input, {
      summary: `machine of ${describeNode(node)}`,
      taken: `the machine of ${describeNode(node)} is busy with another operation; run 'heddle machine show ${name}' to see it, or 'heddle machine cancel ${name}' to end it`,
    });
    return { operation: nodeOperationId(runId) };
  }

  /** @throws HeddleError NotFound if the cluster, pool or node does not exist. */
  async #requireNode(node: NodeRef): Promise<void> {
    const handle = this.temporal.workflow.getHandle(workflowOfNode(node));
    const what = `${node.of} ${node.name}`;
    const queries = node.of === 'pool' ? poolMessages.queries : clusterMessages.queries;
    const reply = await call(this.temporal, what, () => read(handle, queries.node, node.node)).catch(
      (error: unknown) => {
        if (!(error instanceof HeddleError) || error.code !== 'NotFound') throw error;
        const next = node.of === 'pool' ? 'heddle pool list' : 'heddle list';
        throw new HeddleError('NotFound', `${what} does not exist`, { cause: error, next });
      },
    );
    if (reply.is === 'unknown')
      throw new HeddleError('NotFound', reply.why, {
        next: node.of === 'pool' ? `heddle pool nodes ${node.name}` : `heddle nodes ${node.name}`,
      });
  }

  /** Starts a machine's workflow; returns its run id. */
  #start(
    what: string,
    workflowType: string,
    name: string,
    input: MachineInput | NodeMachineInput,
    { summary, taken }: { readonly summary: string; readonly taken: string },
  ): Promise<string> {
    return call(this.temporal, what, async () => {
      try {
        const { firstExecutionRunId } = await this.temporal.workflow.start(workflowType, {
          workflowId: machineWorkflowId(name),
          taskQueue: workflowQueue,
          args: [input],
          workflowIdConflictPolicy: 'FAIL',
          workflowIdReusePolicy: 'ALLOW_DUPLICATE',
          staticSummary: summary,
        });
        return firstExecutionRunId;
      } catch (cause) {
        if (!(cause instanceof WorkflowExecutionAlreadyStartedError)) throw cause;
        throw new HeddleError('Refused', taken, { cause });
      }
    });
  }

  /** Cancels the running operation. A load that has begun to write leaves the machine failed. */
  cancel(name: string): Promise<MachineReply> {
    return this.update('cancel', name, machineMessages.updates.cancel, { by: this.by });
  }

  /**
   * States that no program of a load or capture that was started on a worker host runs there any more, such
   * as after the host was replaced. Heddle then starts others.
   * @throws HeddleError NotFound if no program is recorded, Refused if it was started on another host.
   */
  async confirmEnded(
    name: string,
    host: string,
  ): Promise<{ readonly machine: string; readonly what: string }> {
    const { provider, providerid: machine = name } = await this.show(name);
    const handle = this.temporal.workflow.getHandle(claimsWorkflowId(runsOf(provider)));
    const held = await call(this.temporal, `confirm-ended ${name}`, () =>
      read(handle, claimsMessages.queries.held),
    ).catch((error: unknown) => {
      if (error instanceof HeddleError && error.code === 'NotFound') return undefined;
      throw error;
    });
    const key = held?.[machine];
    if (key === undefined)
      throw new HeddleError('NotFound', `no program of a load or capture runs on machine ${name}`);
    const writer = JSON.parse(key) as { readonly host: string; readonly what: string };
    if (writer.host !== host)
      throw new HeddleError(
        'Refused',
        `${writer.what} was started on worker host ${writer.host}, not ${host}`,
      );
    await call(this.temporal, `confirm-ended ${name}`, () =>
      handle.executeUpdate(claimsMessages.updates.claim, {
        args: [{ take: [], candidates: [], release: [key] }],
      }),
    );
    return { machine: name, what: writer.what };
  }

  show(name: string): Promise<MachineView> {
    return this.query('show', name, machineMessages.queries.status);
  }

  /**
   * The login that `reservation`, or an administrator, granted; null if the machine is closed, or open to the
   * user of another reservation.
   */
  access(name: string, reservation?: string): Promise<MachineAccess | null> {
    return this.query('log-in', name, machineMessages.queries.access, { reservation });
  }

  /** Everything known about a machine, its own credentials included: for administrators. */
  async payload(name: string): Promise<JsonObject> {
    return (await this.query('payload', name, clusterMessages.queries.payload, name)) ?? {};
  }

  /** The registered machines; those whose workflow does not answer are named in `silent`. */
  async list(): Promise<{ readonly machines: readonly MachineView[]; readonly silent: readonly string[] }> {
    const { views, silent } = await this.views((name) => this.show(name));
    return { machines: views, silent };
  }

  /**
   * Waits until an operation has ended.
   * @throws HeddleError NotFound when the machine has no record of the operation.
   */
  waitFor(
    name: string,
    id: string,
    options?: WaitUntilOptions<MachineView>,
  ): Promise<{ readonly operation: MachineOperation; readonly machine: MachineView }> {
    return waitUntil(
      () => this.show(name),
      (machine) => {
        const operation = machine.history.find((ended) => ended.id === id);
        if (operation !== undefined) return { operation, machine };
        if (machine.operation?.id === id) return undefined;
        throw new HeddleError('NotFound', `machine ${name} has no record of operation ${id}`, {
          next: `heddle machine show ${name}`,
        });
      },
      options,
    );
  }

  protected override async send<Reply>(
    what: string,
    name: string,
    make: (handle: WorkflowHandle) => Promise<Reply>,
  ): Promise<Reply> {
    if (parseNodeName(name) === undefined && !isMachineName(name))
      throw new HeddleError(
        'Invalid',
        `"${name}" is not a valid name of a machine or node: use NAME, CLUSTER/NODE or pool/POOL/NODE, in lower-case letters, digits and hyphens`,
        { next: 'heddle machine list' },
      );
    return super.send(what, name, make);
  }

  protected override notFound(name: string, cause?: HeddleError): HeddleError {
    const node = parseNodeName(name);
    if (node === undefined) return super.notFound(name, cause);
    return new HeddleError('NotFound', `the machine of ${describeNode(node)} has no recent operation`, {
      cause,
      next: `heddle machine status ${name}`,
    });
  }
}
