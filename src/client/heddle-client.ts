import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import type { Consent } from '../model/cluster/consent.js';
import type { Intent } from '../model/plan/intent/intent.js';
import { clusterMessages, revisionMessages } from '../workflows/messages.js';
import { missingRevisionText, missingSpecBeforeText, type Revision } from '../model/cluster/revision.js';
import { withLockOf } from '../model/cluster/state.js';
import type { ApplyReply, ApplyRequest, OperateRequest } from '../model/cluster/contract.js';
import type { ClusterStart } from '../model/cluster/messages.js';
import { clusterWorkflowId, clusterWorkflowType } from '../model/names.js';
import type { JsonObject } from '../model/json.js';
import type { Resumption } from '../model/sweep/sweep.js';
import type { SweepReport } from '../schema/output/system.js';
import { quickNodes, workflowTaskMs } from '../model/resumption.js';
import type { Labels } from '../model/cluster/labels.js';
import type { ClusterSpec } from '../model/cluster/spec.js';
import type { Outputs } from '../model/cluster/outputs.js';
import type { ClusterStatus } from '../schema/output/status.js';
import { ResourceClient } from './artifact/artifact-client.js';
import { call, setPatience } from './call.js';
import { EntityClient } from './entity-client.js';
import { HeddleError } from './errors.js';
import { requireSpec } from './require-spec.js';
import { nodesOfGroups, withGroups } from './groups.js';
import { deleteLeaks, readLeaks, resumeSweep, sweepNow, type LeaksView } from './leaks.js';
import { ImageClient } from './image.js';
import { listClusters, type ClusterListing } from './list.js';
import { MachineClient } from './machine.js';
import { waitForProbes } from './probe.js';
import { preview, type PlanPreview } from './preview.js';
import { ReservationClient } from './reservation.js';
import { findOperation, waitForOperation, type WaitOptions, type WaitResult } from './wait.js';
import { read } from './read.js';

export interface HeddleClientOptions {
  /** The requester that operations record; `user@host` by default. */
  readonly by?: string;
  /** How long calls wait without a sign of life of a worker, in ms; 12 s by default. */
  readonly busyMs?: number;
}

export interface ApplyOptions {
  /** Refuse when the cluster exists with another spec. */
  readonly createOnly?: boolean;
  /** Nodes of a service that may be disturbed at the same time; all by default. */
  readonly width?: number;
  /** Ids of nodes: the apply is limited to these, and another apply does the rest. */
  readonly nodes?: readonly string[];
  /** Services, likewise; with `nodes`, these services on these nodes. */
  readonly services?: readonly string[];
  /**
   * The limits of what a user agreed to, from a preview; none by default. The operation is refused beyond
   * them.
   */
  readonly consent?: Consent;
  /** Queue behind other operations instead of being refused while the cluster is busy. */
  readonly queue?: boolean;
}

/** Every operation but apply and delete, which have methods of their own. */
export type OperateIntent = OperateRequest['intent'];

/** Everything a user does with clusters, over a Temporal client that carries Heddle's plugin. */
export class HeddleClient extends EntityClient {
  /** Standalone machines, and the images on them. */
  readonly machines: MachineClient;
  /** Scripts, cookbooks and other files that plugins use. */
  readonly resources: ResourceClient;
  readonly images: ImageClient;
  readonly reservations: ReservationClient;

  constructor(temporal: Client, options: HeddleClientOptions = {}) {
    super(
      temporal,
      {
        noun: 'cluster',
        workflowType: clusterWorkflowType,
        workflowId: clusterWorkflowId,
        listCommand: 'heddle list',
      },
      options.by,
    );
    if (options.busyMs !== undefined) setPatience(temporal, options.busyMs);
    this.resources = new ResourceClient(temporal, this.by);
    this.machines = new MachineClient(temporal, this.by);
    this.images = new ImageClient(temporal, this.by, this.resources);
    this.reservations = new ReservationClient(temporal, this.by);
  }

  /**
   * Brings a cluster to a spec, and creates it if necessary. Returns as soon as the request is accepted.
   * Applying the same spec again returns the operation that applies it. Names of resources are bound to their
   * present versions.
   * @throws HeddleError Invalid if this is not a spec; Refused when the cluster is busy, being deleted, or
   * exists with `createOnly`.
   */
  async apply(spec: ClusterSpec, options: ApplyOptions = {}): Promise<ApplyReply> {
    requireSpec(spec);
    const { name } = spec;
    const uid = randomUUID();
    const input: ClusterStart = { heddle: { uid } };
    const firstInput: ClusterStart = { heddle: { uid, isFirst: true } };
    const nodes = Object.values(spec.nodes).reduce((sum, { count }) => sum + count, 0);
    const { createOnly, width, nodes: onlyNodes, services, consent, queue } = options;
    const request: ApplyRequest = {
      spec: await this.resources.pin(spec),
      by: this.by,
      createOnly: createOnly || undefined,
      width,
      nodes: onlyNodes,
      services,
      consent,
      queue: queue || undefined,
    };
    return this.updateWithStart(`apply ${name}`, name, clusterMessages.updates.apply, request, {
      args: [input],
      firstArgs: [firstInput],
      workflowTaskTimeout: nodes > quickNodes ? 'server' : workflowTaskMs,
      staticSummary: `cluster ${name}`,
      staticDetails: detailsOf(spec, this.by),
    });
  }

  /**
   * Starts any operation but apply and delete: start, stop, restart, reconfigure, replace, exec, rollback,
   * scale.
   * @throws HeddleError Refused when the cluster is busy (unless `queue`), held, or has no such node.
   */
  async operate(
    name: string,
    intent: OperateIntent,
    { queue, consent }: Pick<ApplyOptions, 'queue' | 'consent'> = {},
  ): Promise<ApplyReply> {
    return this.update(intent.kind, name, clusterMessages.updates.operate, {
      intent,
      by: this.by,
      queue: queue || undefined,
      consent,
      spec: await this.#specOfRevision(name, intent),
    });
  }

  /** The plan of an apply; changes nothing. */
  async plan(
    spec: ClusterSpec,
    { width, nodes, services }: Pick<ApplyOptions, 'width' | 'nodes' | 'services'> = {},
  ): Promise<PlanPreview> {
    requireSpec(spec);
    const intent = { kind: 'apply', width, nodes, services } as const;
    return preview(this.temporal, spec.name, intent, await this.resources.pin(spec));
  }

  /**
   * The plan of any other operation; changes nothing.
   * @throws HeddleError Refused if it names something that the cluster does not have.
   */
  async preview(name: string, intent: Intent): Promise<PlanPreview> {
    if (intent.kind === 'delete') return preview(this.temporal, name, intent);
    const revision = await this.#specOfRevision(name, intent);
    if (revision !== undefined) {
      const present = await this.spec(name);
      return preview(this.temporal, name, intent, withLockOf({ spec: present ?? revision }, revision));
    }
    const which = intent.kind === 'rollback' ? 'rollback' : 'present';
    const spec = await this.query('spec of', name, clusterMessages.queries.spec, which);
    if (spec === null && which === 'rollback')
      throw new HeddleError('Refused', missingSpecBeforeText(name), { next: 'heddle apply FILE' });
    return preview(this.temporal, name, intent, spec ?? undefined);
  }

  /**
   * Deletes a cluster in any state. When no worker takes the request, it is left as a signal for the next
   * worker; `operation` is then absent.
   */
  async delete(name: string): Promise<Partial<ApplyReply>> {
    try {
      return await this.update('delete', name, clusterMessages.updates.delete, { by: this.by });
    } catch (error) {
      if (!(error instanceof HeddleError) || error.code !== 'NoWorker') throw error;
      await this.send('delete', name, (handle) =>
        handle.signal(clusterMessages.signals.requestDelete, { by: this.by }),
      );
      return {};
    }
  }

  /**
   * Probes the machines; deviations show as drift in `plan` and `preview` from then on. Does nothing when
   * the cluster does not exist, or while an operation runs.
   * @returns the reasons why some machines were not probed, such as a site without workers; empty if all
   * were.
   */
  async probe(
    name: string,
    { patienceMs = 60_000 }: { readonly patienceMs?: number } = {},
  ): Promise<readonly string[]> {
    const summary = await this.summary(name).catch((error: unknown) => {
      if (error instanceof HeddleError && error.code === 'NotFound') return undefined;
      throw error;
    });
    if (summary === undefined || summary.operation?.state === 'running' || summary.phase === 'deleted')
      return [];
    const number = await this.update('probe', name, clusterMessages.updates.check);
    return waitForProbes(this.temporal, {
      name,
      groups: (summary.groups ?? []).map(({ workflowId }) => workflowId),
      patienceMs,
      isDone: async () => (await this.summary(name)).checks.done >= number,
    });
  }

  /**
   * Continues a held operation from exactly what failed. This also confirms that a machine that a failure
   * asked to look for does not exist.
   */
  async retry(name: string): Promise<ApplyReply> {
    const { operation } = await this.summary(name);
    return this.update('retry', name, clusterMessages.updates.retry, {
      by: this.by,
      operation: operation?.uid,
    });
  }

  /**
   * Ends the running or held operation, or a queued one by its id; `waitFor` waits for the end. Completed
   * work stays; machines that it created and that were never confirmed are deleted. A machine that cannot be
   * deleted keeps its node, which is `failed`.
   */
  async cancel(name: string, id?: string): Promise<ApplyReply> {
    const status = await this.summary(name);
    const operation = id === undefined ? (status.operation ?? status.queued[0]) : findOperation(status, id);
    if (id !== undefined && operation === undefined)
      throw new HeddleError('Refused', `cluster ${name} has no operation ${id} that runs, is held or waits`, {
        next: `heddle status ${name}`,
      });
    return this.update('cancel', name, clusterMessages.updates.cancel, {
      by: this.by,
      operation: operation?.uid,
    });
  }

  /** Starts no further task until `resume`; running tasks continue to their end. */
  pause(name: string): Promise<ApplyReply> {
    return this.update('pause', name, clusterMessages.updates.pause, { by: this.by });
  }

  resume(name: string): Promise<ApplyReply> {
    return this.update('resume', name, clusterMessages.updates.resume, { by: this.by });
  }

  /** Forgets a node of a held operation whose machine cannot be deleted; the machine, if any, stays. */
  abandon(name: string, nodeId: string): Promise<ApplyReply> {
    return this.update('abandon', name, clusterMessages.updates.abandon, { by: this.by, nodeId });
  }

  /** The whole cluster, its groups' nodes included. @throws HeddleError NotFound, NoWorker, NoServer. */
  async status(name: string): Promise<ClusterStatus> {
    const summary = await this.summary(name);
    return summary.groups === undefined
      ? summary
      : withGroups(summary, await nodesOfGroups(this.temporal, summary.groups));
  }

  /** The status by one query: of a large cluster only the nodes that its own workflow carries. */
  summary(name: string): Promise<ClusterStatus> {
    return this.query('status', name, clusterMessages.queries.status);
  }

  /** The outputs of the cluster with their values, secret ones included. */
  outputs(name: string): Promise<Outputs> {
    return this.query('outputs of', name, clusterMessages.queries.outputs);
  }

  /** The normalised spec that the cluster accepted last. */
  spec(name: string): Promise<ClusterSpec | null> {
    return this.query('spec of', name, clusterMessages.queries.spec, 'present');
  }

  /** The accepted changes of the spec that the cluster keeps, newest first. */
  async revisions(name: string): Promise<readonly Revision[]> {
    return (await this.summary(name)).revisions;
  }

  /**
   * The normalised spec of a revision. @throws HeddleError NotFound if the cluster does not have it, or no
   * more.
   */
  async revision(name: string, number: number): Promise<ClusterSpec> {
    const revisions = await this.revisions(name);
    const gone = new HeddleError('NotFound', missingRevisionText(name, number, revisions), {
      next: `heddle history ${name}`,
    });
    const found = revisions.find((revision) => revision.number === number);
    if (found === undefined) throw gone;
    const handle = this.temporal.workflow.getHandle(found.workflowId);
    const ask = (): Promise<ClusterSpec> => read(handle, revisionMessages.queries.spec);
    return call(this.temporal, `revision ${number} of ${name}`, ask).catch((error: unknown) => {
      throw error instanceof HeddleError && error.code === 'NotFound' ? gone : error;
    });
  }

  /**
   * Everything known about a node, the credentials to log in included.
   * @throws HeddleError NotFound when the cluster has no such node.
   */
  async payload(name: string, nodeId: string): Promise<JsonObject> {
    const ask = async (workflowId: string): Promise<JsonObject | null> =>
      call(this.temporal, `payload of ${nodeId}`, () =>
        read(this.temporal.workflow.getHandle(workflowId), clusterMessages.queries.payload, nodeId),
      );
    let payload = await ask(clusterWorkflowId(name));
    if (payload === null) {
      for (const { workflowId } of (await this.summary(name)).groups ?? []) payload ??= await ask(workflowId);
    }
    if (payload !== null) return payload;
    const next = `heddle nodes ${name}`;
    throw new HeddleError(
      'NotFound',
      `cluster ${name} has no node ${nodeId}; run '${next}' to see its nodes`,
      { next },
    );
  }

  /** The clusters in the server's index, with all of these labels; no worker is needed. */
  list({ labels }: { readonly labels?: Labels } = {}): Promise<readonly ClusterListing[]> {
    return call(this.temporal, 'list', () => listClusters(this.temporal, labels));
  }

  /** How far the cluster's workflow has come: it changes with each of its tasks. No worker is needed. */
  async progress(name: string): Promise<string> {
    const { runId, historyLength } = await this.handle(name).describe();
    return `${runId} ${historyLength}`;
  }

  /** Waits until an operation has ended or is held, through restarts of workers and server. */
  waitFor(name: string, operation: string, options: WaitOptions = {}): Promise<WaitResult> {
    return waitForOperation(this, name, operation, options);
  }

  /**
   * Orphaned machines of this installation, as of the last sweep.
   * @throws HeddleError NotFound before the first worker starts.
   */
  leaks(): Promise<LeaksView> {
    return readLeaks(this.temporal);
  }

  /** Runs a sweep now and returns its report. */
  sweep(): Promise<SweepReport> {
    return sweepNow(this.temporal);
  }

  /** Deletes orphaned machines of the last report by their ids, after checking them again. */
  deleteLeaks(providerids: readonly string[]): Promise<SweepReport> {
    return deleteLeaks(this.temporal, providerids);
  }

  /**
   * Resumes the deletions of sweeps that found the database older than the machines. Unknown machines stay.
   */
  resumeSweep(): Promise<Resumption> {
    return resumeSweep(this.temporal, this.by);
  }

  async #specOfRevision(name: string, intent: Intent): Promise<ClusterSpec | undefined> {
    return intent.kind === 'rollback' && intent.revision !== undefined
      ? this.revision(name, intent.revision)
      : undefined;
  }

  protected override notFound(name: string, cause?: HeddleError): HeddleError {
    return cause ?? super.notFound(name);
  }
}

/** Shown by the Web UI beside the workflow. */
function detailsOf({ name }: ClusterSpec, by: string): string {
  return [
    `Cluster **${name}**, created by ${by}. This workflow runs as long as the cluster exists; current details show its nodes.`,
    '',
    `- \`heddle status ${name}\`: what it is doing, what failed, what to do next`,
    `- \`heddle delete ${name}\`: deletes it; terminating this workflow would leave its machines running`,
  ].join('\n');
}
