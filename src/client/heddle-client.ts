import { randomUUID } from 'node:crypto';
import { hostname, userInfo } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { WithStartWorkflowOperation, type Client, type WorkflowHandle } from '@temporalio/client';
import type { Intent } from '../model/plan/intent.js';
import type { ApplyReply, ApplyRequest, ClusterStart, OperateRequest } from '../model/cluster/messages.js';
import { clusterWorkflowId, clusterWorkflowType, coreQueue } from '../model/names.js';
import type { JsonObject } from '../model/json.js';
import type { SweepReport } from '../model/sweep/sweep.js';
import { quickNodes, workflowTaskMs } from '../model/resumption.js';
import type { ClusterSpec } from '../model/cluster/spec.js';
import type { ClusterStatus } from '../model/cluster/view.js';
import {
  abandonUpdate,
  applyUpdate,
  cancelUpdate,
  deleteSignal,
  deleteUpdate,
  lookUpdate,
  operateUpdate,
  pauseUpdate,
  payloadQuery,
  resumeUpdate,
  retryUpdate,
  specQuery,
  statusQuery,
} from '../workflows/cluster/messages.js';
import { call, setPatience } from './call.js';
import { HeddleError } from './errors.js';
import { nodesOfGroups, withGroups } from './groups.js';
import { deleteLeaks, readLeaks, sweepNow, type LeaksView } from './leaks.js';
import { ImageClient } from './image/image-client.js';
import { listClusters, type ClusterListing } from './list.js';
import { MachineClient } from './machine/machine-client.js';
import { preview, type PlanPreview } from './preview.js';
import { ReservationClient } from './reservation/reservation-client.js';
import { ResourceClient } from './resources/resource-client.js';
import { waitForOperation, type WaitOptions, type WaitResult } from './wait.js';

export interface HeddleClientOptions {
  /** Who asks, as operations record it; `user@host` unless given. */
  readonly by?: string;
  /** How long calls wait for an answer while a worker is known to be there, in ms; 12 s unless given. */
  readonly busyMs?: number;
}

export interface ApplyOptions {
  /** Refuse when the cluster is there already with another spec. */
  readonly createOnly?: boolean;
  /** At most so many nodes of a service are disturbed at once; all together unless given. */
  readonly width?: number;
  /** Wait for the operations before it instead of being refused while the cluster is busy. */
  readonly queue?: boolean;
}

/** Every operation but apply and delete, which have methods of their own. */
export type OperateIntent = OperateRequest['intent'];

/** Everything a user does with clusters, over a Temporal client that carries Heddle's plugin. */
export class HeddleClient {
  readonly temporal: Client;
  /** Machines that are registered by themselves, and the images on them. */
  readonly machines: MachineClient;
  /** Scripts, cookbooks and other files that plugins use. */
  readonly resources: ResourceClient;
  /** How images are built, and which there are. */
  readonly images: ImageClient;
  /** Machines in time: who has which, with what, from when to when. */
  readonly reservations: ReservationClient;
  readonly #by: string;

  constructor(temporal: Client, options: HeddleClientOptions = {}) {
    this.temporal = temporal;
    if (options.busyMs !== undefined) setPatience(temporal, options.busyMs);
    this.#by = options.by ?? `${userInfo().username}@${hostname()}`;
    this.resources = new ResourceClient(temporal, this.#by);
    this.machines = new MachineClient(temporal, this.#by);
    this.images = new ImageClient(temporal, this.#by, this.resources);
    this.reservations = new ReservationClient(temporal, this.#by);
  }

  /**
   * Brings a cluster to a spec; makes the cluster when there is none. Returns as soon as the request is
   * accepted. The same spec while it is being brought about changes nothing and gives the operation that
   * brings it. Names of resources in it are bound to what they mean now.
   * @throws HeddleError Refused when the cluster is busy, being deleted, or there already with `createOnly`.
   */
  async apply(spec: ClusterSpec, options: ApplyOptions = {}): Promise<ApplyReply> {
    const input: ClusterStart = { heddle: { uid: randomUUID() } };
    const nodes = Object.values(spec.groups).reduce((sum, { count }) => sum + count, 0);
    const start = (): WithStartWorkflowOperation<(input: ClusterStart) => Promise<string>> =>
      new WithStartWorkflowOperation(clusterWorkflowType, {
        workflowId: clusterWorkflowId(spec.name),
        taskQueue: coreQueue,
        args: [input],
        ...(nodes > quickNodes ? {} : { workflowTaskTimeout: workflowTaskMs }),
        workflowIdConflictPolicy: 'USE_EXISTING',
        staticSummary: `cluster ${spec.name}`,
        staticDetails: detailsOf(spec, this.#by),
      });
    const { createOnly = false, width, queue = false } = options;
    const request: ApplyRequest = {
      spec: await this.resources.pin(spec),
      by: this.#by,
      ...(createOnly ? { createOnly } : {}),
      width,
      ...(queue ? { queue } : {}),
    };
    return call(this.temporal, `apply ${spec.name}`, () =>
      this.temporal.workflow.executeUpdateWithStart(applyUpdate, {
        args: [request],
        startWorkflowOperation: start(),
      }),
    );
  }

  /**
   * Asks for any operation but apply and delete: start, stop, restart, reconfigure, replace, exec, rollback.
   * @throws HeddleError Refused when the cluster is busy (unless `queue`), held, or has no such node.
   */
  async operate(
    name: string,
    intent: OperateIntent,
    options: { readonly queue?: boolean } = {},
  ): Promise<ApplyReply> {
    const request: OperateRequest = {
      intent,
      by: this.#by,
      ...(options.queue === true ? { queue: true } : {}),
    };
    return this.#update(name, intent.kind, (handle) =>
      handle.executeUpdate(operateUpdate, { args: [request] }),
    );
  }

  /** What an apply of this spec would do; nothing is changed. */
  async plan(spec: ClusterSpec, options: Pick<ApplyOptions, 'width'> = {}): Promise<PlanPreview> {
    const { width } = options;
    return preview(this.temporal, spec.name, { kind: 'apply', width }, await this.resources.pin(spec));
  }

  /**
   * What an operation would do; nothing is changed.
   * @throws HeddleError Refused when it names what the cluster does not have.
   */
  async preview(name: string, intent: Intent): Promise<PlanPreview> {
    if (intent.kind === 'delete') return preview(this.temporal, name, intent);
    const spec = await call(this.temporal, `spec of ${name}`, () =>
      this.#handle(name).query(specQuery, intent.kind === 'rollback' ? 'rollback' : 'present'),
    );
    return preview(this.temporal, name, intent, spec ?? undefined);
  }

  /**
   * Deletes a cluster, whatever it is doing. With no worker to take the request it is left as a signal, which
   * the next worker carries out; `operation` is then absent.
   */
  async delete(name: string): Promise<Partial<ApplyReply>> {
    const handle = this.#handle(name);
    try {
      return await call(this.temporal, `delete ${name}`, () =>
        handle.executeUpdate(deleteUpdate, { args: [{ by: this.#by }] }),
      );
    } catch (error) {
      if (!(error instanceof HeddleError) || error.code !== 'NoWorker') throw error;
      await call(this.temporal, `delete ${name}`, () => handle.signal(deleteSignal, { by: this.#by }));
      return {};
    }
  }

  /**
   * Has the machines looked at; what is not as it should be shows as drift in `plan` and `preview` from then
   * on. Does nothing where no cluster is, or while an operation is under way.
   */
  async look(name: string, options: { readonly patienceMs?: number } = {}): Promise<void> {
    const { patienceMs = 60_000 } = options;
    const summary = await this.summary(name).catch((error: unknown) => {
      if (error instanceof HeddleError && error.code === 'NotFound') return undefined;
      throw error;
    });
    if (summary === undefined || summary.operation?.state === 'running' || summary.phase === 'deleted')
      return;
    const number = await call(this.temporal, `look at ${name}`, () =>
      this.#handle(name).executeUpdate(lookUpdate),
    );
    const until = Date.now() + patienceMs;
    while ((await this.summary(name)).looks.done < number && Date.now() < until) await pause(100);
  }

  /** Goes on with a held operation from exactly what failed. */
  async retry(name: string): Promise<ApplyReply> {
    return this.#update(name, 'retry', (handle) =>
      handle.executeUpdate(retryUpdate, { args: [{ by: this.#by }] }),
    );
  }

  /**
   * Ends the operation under way, held, or waiting (by its id). What was done stays; machines that were never
   * confirmed are deleted.
   */
  async cancel(name: string, operation?: string): Promise<ApplyReply> {
    const request = { by: this.#by, operation };
    return this.#update(name, 'cancel', (handle) => handle.executeUpdate(cancelUpdate, { args: [request] }));
  }

  /** Starts nothing more until `resume`; what runs goes on to its end. */
  async pause(name: string): Promise<ApplyReply> {
    return this.#update(name, 'pause', (handle) =>
      handle.executeUpdate(pauseUpdate, { args: [{ by: this.#by }] }),
    );
  }

  async resume(name: string): Promise<ApplyReply> {
    return this.#update(name, 'resume', (handle) =>
      handle.executeUpdate(resumeUpdate, { args: [{ by: this.#by }] }),
    );
  }

  /**
   * Forgets a node of a held operation whose machine cannot be deleted; the machine, if there is one, stays.
   */
  async abandon(name: string, nodeId: string): Promise<ApplyReply> {
    return this.#update(name, 'abandon', (handle) =>
      handle.executeUpdate(abandonUpdate, { args: [{ by: this.#by, nodeId }] }),
    );
  }

  /** All of a cluster, its groups' nodes included. @throws HeddleError NotFound, NoWorker, NoServer. */
  async status(name: string): Promise<ClusterStatus> {
    const summary = await this.summary(name);
    return summary.groups === undefined
      ? summary
      : withGroups(summary, await nodesOfGroups(this.temporal, summary.groups));
  }

  /** The same in one call: of a large cluster only the nodes that its own workflow carries. */
  async summary(name: string): Promise<ClusterStatus> {
    return call(this.temporal, `status ${name}`, () => this.#handle(name).query(statusQuery));
  }

  /** The spec that the cluster accepted last, closed. */
  async spec(name: string): Promise<ClusterSpec | null> {
    return call(this.temporal, `spec of ${name}`, () => this.#handle(name).query(specQuery, 'present'));
  }

  /**
   * Everything that is known of a node, the credentials to log in with included.
   * @throws HeddleError NotFound when the cluster has no such node.
   */
  async payload(name: string, nodeId: string): Promise<JsonObject> {
    const ask = async (workflowId: string): Promise<JsonObject | null> =>
      call(this.temporal, `payload of ${nodeId}`, () =>
        this.temporal.workflow.getHandle(workflowId).query(payloadQuery, nodeId),
      );
    let payload = await ask(clusterWorkflowId(name));
    if (payload === null) {
      for (const { workflowId } of (await this.summary(name)).groups ?? []) payload ??= await ask(workflowId);
    }
    if (payload === null)
      throw new HeddleError(
        'NotFound',
        `cluster ${name} has no node ${nodeId}; 'heddle nodes ${name}' shows those it has`,
        { next: `heddle nodes ${name}` },
      );
    return payload;
  }

  /** Clusters, also without any worker; what the server's index knows of them. */
  async list(): Promise<readonly ClusterListing[]> {
    return call(this.temporal, 'list', () => listClusters(this.temporal));
  }

  /** Waits until an operation has ended or is held, through restarts of workers and server. */
  async waitFor(name: string, operation: string, options: WaitOptions = {}): Promise<WaitResult> {
    return waitForOperation(this, name, operation, options);
  }

  /**
   * Machines of this installation that no cluster has, as the sweep saw them last.
   * @throws HeddleError NotFound where no worker ever was.
   */
  async leaks(): Promise<LeaksView> {
    return readLeaks(this.temporal);
  }

  /** Has the sweep look now, and waits for what it finds. */
  async sweep(): Promise<SweepReport> {
    return sweepNow(this.temporal);
  }

  /** Deletes machines by their ids, if the sweep saw that no cluster has them, and sees it again. */
  async deleteLeaks(providerids: readonly string[]): Promise<SweepReport> {
    return deleteLeaks(this.temporal, providerids);
  }

  async #update(
    name: string,
    what: string,
    ask: (handle: WorkflowHandle) => Promise<ApplyReply>,
  ): Promise<ApplyReply> {
    return call(this.temporal, `${what} ${name}`, () => ask(this.#handle(name)));
  }

  #handle(name: string): WorkflowHandle {
    return this.temporal.workflow.getHandle(clusterWorkflowId(name));
  }
}

/** Shown by the Web UI beside the workflow, for as long as it lives. */
function detailsOf({ name }: ClusterSpec, by: string): string {
  return [
    `Cluster **${name}**, made by ${by}. This workflow lives as long as the cluster; current details show its nodes.`,
    '',
    `- \`heddle status ${name}\`: what it is doing, what failed, what to do next`,
    `- \`heddle delete ${name}\`: the way to end it; terminating this workflow would leave its machines running`,
  ].join('\n');
}
