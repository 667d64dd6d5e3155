import { randomUUID } from 'node:crypto';
import { hostname, userInfo } from 'node:os';
import { WithStartWorkflowOperation, type Client, type WorkflowHandle } from '@temporalio/client';
import type { ApplyReply, ClusterStart } from '../model/messages.js';
import { clusterWorkflowId, clusterWorkflowType, coreQueue, planWorkflowType } from '../model/names.js';
import { emptyCluster, type CurrentCluster } from '../model/plan-operation.js';
import type { Plan } from '../model/plan.js';
import type { JsonObject } from '../model/json.js';
import type { ClusterSpec } from '../model/spec.js';
import type { ClusterStatus } from '../model/status.js';
import { applyUpdate, currentQuery, deleteSignal, deleteUpdate, payloadQuery, retryUpdate, specQuery, statusQuery } from '../workflows/messages.js';
import { call } from './call.js';
import { HeddleError } from './errors.js';
import { listClusters, type ClusterListing } from './list.js';
import { waitForOperation, type WaitOptions, type WaitResult } from './wait.js';

export interface HeddleClientOptions {
  /** Who asks, as operations record it; `user@host` unless given. */
  readonly by?: string;
}

/** Events of a workflow that no worker has taken up: it was started, and a task for it was put on the queue. */
const eventsBeforeWorker = 2;

export interface PlanPreview {
  readonly plan: Plan;
  readonly current: CurrentCluster;
}

/** Everything a user does with clusters, over a Temporal client that carries Heddle's plugin. */
export class HeddleClient {
  readonly temporal: Client;
  readonly #by: string;

  constructor(temporal: Client, options: HeddleClientOptions = {}) {
    this.temporal = temporal;
    this.#by = options.by ?? `${userInfo().username}@${hostname()}`;
  }

  /**
   * Brings a cluster to a spec; makes the cluster when there is none. Returns as soon as the request is accepted. The
   * same spec again changes nothing and gives the operation that brought it.
   * @throws HeddleError Refused when the cluster is busy, being deleted, or there already with `createOnly`.
   */
  async apply(spec: ClusterSpec, options: { readonly createOnly?: boolean } = {}): Promise<ApplyReply> {
    const input: ClusterStart = { heddle: { uid: randomUUID() } };
    const start = (): WithStartWorkflowOperation<(input: ClusterStart) => Promise<string>> => new WithStartWorkflowOperation(clusterWorkflowType, {
      workflowId: clusterWorkflowId(spec.name), taskQueue: coreQueue, args: [input],
      workflowIdConflictPolicy: 'USE_EXISTING', staticSummary: `cluster ${spec.name}`, staticDetails: detailsOf(spec, this.#by),
    });
    const request = { spec, by: this.#by, ...(options.createOnly === true ? { createOnly: true } : {}) };
    return call(this.temporal, `apply ${spec.name}`, () =>
      this.temporal.workflow.executeUpdateWithStart(applyUpdate, { args: [request], startWorkflowOperation: start() }));
  }

  /** What an apply of this spec would do; nothing is changed. */
  async plan(spec: ClusterSpec): Promise<PlanPreview> {
    const current = await this.#current(spec.name);
    const request = { clusterName: spec.name, kind: 'apply', spec, current };
    const options = { workflowId: `plan/${spec.name}/${randomUUID()}`, taskQueue: coreQueue, args: [request], workflowExecutionTimeout: '2 minutes' } as const;
    const what = `plan ${spec.name}`;
    const handle = await call(this.temporal, what, () =>
      this.temporal.workflow.start<(input: typeof request) => Promise<Plan>>(planWorkflowType, options));
    const plan = await call(this.temporal, what, () => handle.result()).catch(async (error: unknown) => {
      // A worker that took it up and is only slow is waited for.
      const silent = error instanceof HeddleError && error.code === 'NoWorker';
      if (!silent || (await handle.describe()).historyLength <= eventsBeforeWorker) throw error;
      return call(this.temporal, what, () => handle.result(), 60_000);
    });
    return { plan, current };
  }

  /**
   * Deletes a cluster, whatever it is doing. With no worker to take the request it is left as a signal, which the next
   * worker carries out; `operation` is then absent.
   */
  async delete(name: string): Promise<Partial<ApplyReply>> {
    const handle = this.#handle(name);
    try {
      return await call(this.temporal, `delete ${name}`, () => handle.executeUpdate(deleteUpdate, { args: [{ by: this.#by }] }));
    } catch (error) {
      if (!(error instanceof HeddleError) || error.code !== 'NoWorker') throw error;
      await call(this.temporal, `delete ${name}`, () => handle.signal(deleteSignal, { by: this.#by }));
      return {};
    }
  }

  /** Goes on with a held operation from exactly what failed. */
  async retry(name: string): Promise<ApplyReply> {
    return call(this.temporal, `retry ${name}`, () => this.#handle(name).executeUpdate(retryUpdate, { args: [{ by: this.#by }] }));
  }

  /** @throws HeddleError NotFound, NoWorker, NoServer. */
  async status(name: string): Promise<ClusterStatus> {
    return call(this.temporal, `status ${name}`, () => this.#handle(name).query(statusQuery));
  }

  /** The spec that the cluster accepted last, closed. */
  async spec(name: string): Promise<ClusterSpec | null> {
    return call(this.temporal, `spec of ${name}`, () => this.#handle(name).query(specQuery));
  }

  /**
   * Everything that is known of a node, the credentials to log in with included.
   * @throws HeddleError NotFound when the cluster has no such node.
   */
  async payload(name: string, nodeId: string): Promise<JsonObject> {
    const payload = await call(this.temporal, `payload of ${nodeId}`, () => this.#handle(name).query(payloadQuery, nodeId));
    if (payload === null) throw new HeddleError('NotFound', `cluster ${name} has no node ${nodeId}; 'heddle nodes ${name}' shows those it has`);
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

  async #current(name: string): Promise<CurrentCluster> {
    const handle = this.#handle(name);
    try {
      const described = await call(this.temporal, `plan ${name}`, () => handle.describe());
      return described.status.name === 'RUNNING' ? await call(this.temporal, `plan ${name}`, () => handle.query(currentQuery)) : emptyCluster;
    } catch (error) {
      if (error instanceof HeddleError && error.code === 'NotFound') return emptyCluster;
      throw error;
    }
  }

  #handle(name: string): WorkflowHandle {
    return this.temporal.workflow.getHandle(clusterWorkflowId(name));
  }
}

/** Shown by the Web UI beside the workflow, for as long as it lives. */
function detailsOf({ name }: ClusterSpec, by: string): string {
  return [
    `Cluster **${name}**, made by ${by}. This workflow lives as long as the cluster; current details show its nodes.`, '',
    `- \`heddle status ${name}\`: what it is doing, what failed, what to do next`,
    `- \`heddle delete ${name}\`: the way to end it; terminating this workflow would leave its machines running`,
  ].join('\n');
}
