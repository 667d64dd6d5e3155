import { randomUUID } from 'node:crypto';
import type {
  PoolFailure,
  PoolNodeView,
  PoolView,
  RequestView,
  TenantWaiting,
} from '../../schema/output/pool.js';
import { setTimeout as pause } from 'node:timers/promises';
import { WorkflowUpdateFailedError, type Client, type WorkflowHandle } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { JsonObject } from '../../model/json.js';
import { poolWorkflowId, poolWorkflowType } from '../../model/names.js';
import { restoredPool, type PoolRecords } from '../../model/pool/export.js';
import { poolMessages } from '../../workflows/messages.js';
import type { ConfigureReply, DeleteNodesRequest } from '../../model/pool/contract.js';
import type { PoolStart } from '../../model/pool/messages.js';
import type { NodeDemand } from '../../model/pool/request.js';
import type { PoolSpec } from '../../model/pool/spec.js';
import type { PoolNodesPage } from '../../model/pool/view.js';
import { isClosed } from '../call.js';
import { EntityClient, type ExportOptions } from '../entity-client.js';
import { HeddleError } from '../errors.js';
import { Batch } from './batch.js';
import { Watch } from './watch.js';
import { serverTime } from '../server-clock.js';

/** Requests that one message carries. */
const perMessage = 100;
/** Longest outage that calls wait out, in ms: a worker restarts, or replays a long history. */
const outageMs = 120_000;

export interface PoolClientOptions {
  /** The requester; `user@host` by default. */
  readonly by?: string;
}

export type DemandOptions = Partial<Omit<NodeDemand, 'labels'>>;

export interface WaitForNodesOptions {
  readonly patienceMs?: number;
}

/**
 * Everything a user does with one pool. Concurrent calls are sent to the pool in one message, so one client
 * for many requests is far quicker than many clients.
 */
export class PoolClient extends EntityClient {
  readonly name: string;
  readonly #demands: Batch<NodeDemand, RequestView>;
  readonly #returns: Batch<string, true>;
  readonly #renewals: Batch<string, boolean>;
  readonly #watch: Watch;

  constructor(temporal: Client, name: string, { by }: PoolClientOptions = {}) {
    const listCommand = 'heddle pool list';
    super(
      temporal,
      { noun: 'pool', workflowType: poolWorkflowType, workflowId: poolWorkflowId, listCommand },
      by,
    );
    this.name = name;
    this.#demands = new Batch((demands) => this.#sendDemands(demands), perMessage);
    this.#returns = new Batch(async (ids) => {
      await this.#end(ids, 'returned');
      return ids.map(() => true);
    }, perMessage);
    this.#renewals = new Batch(async (ids) => {
      const gone = new Set(
        await this.#patiently(() => this.update('renew', name, poolMessages.updates.renew, ids)),
      );
      return ids.map((id) => !gone.has(id));
    }, perMessage);
    this.#watch = new Watch((wanted) =>
      this.#patiently(() => this.query('requests', name, poolMessages.queries.requests, wanted)),
    );
  }

  /**
   * Configures the pool and creates it if necessary.
   * @throws HeddleError Refused with the reason.
   */
  apply(spec: PoolSpec): Promise<ConfigureReply> {
    const { name } = this;
    const input: PoolStart = { heddle: { uid: randomUUID() } };
    const start = { args: [input], staticSummary: `pool ${name}` };
    return this.updateWithStart(
      `apply pool ${name}`,
      name,
      poolMessages.updates.configure,
      { spec, by: this.by },
      start,
    );
  }

  /**
   * Requests a node of each label. Those that are ready come with the answer; `waitFor` waits for the others.
   */
  async request(labels: readonly string[], options: DemandOptions = {}): Promise<RequestView> {
    const { id = randomUUID(), requester = this.by } = options;
    return this.#demands.add({ ...options, id, requester, labels });
  }

  /**
   * Makes several requests for a node of each label, in few messages: all of them are accepted, or none.
   */
  async requestMany(
    count: number,
    labels: readonly string[],
    options: Omit<DemandOptions, 'id'> = {},
  ): Promise<readonly RequestView[]> {
    const demands = Array.from({ length: count }, (): NodeDemand => ({
      ...options,
      requester: options.requester ?? this.by,
      id: randomUUID(),
      labels,
    }));
    const taken: RequestView[] = [];
    try {
      while (taken.length < count) {
        const batch = demands.slice(taken.length, taken.length + perMessage);
        taken.push(...(await this.#sendDemands(batch)));
      }
    } catch (error) {
      await this.cancelMany(taken.map(({ id }) => id));
      throw error;
    }
    return taken;
  }

  /**
   * Waits until a request is fulfilled, through restarts of workers and server.
   * @throws HeddleError Failed with the reason if it cannot be.
   */
  async waitFor(id: string, { patienceMs }: WaitForNodesOptions = {}): Promise<RequestView> {
    const given = new AbortController();
    const tooLate = (): HeddleError =>
      new HeddleError(
        'Failed',
        `request ${id} was not fulfilled within ${Math.round((patienceMs ?? 0) / 1_000)} s; it is still waiting`,
      );
    if (patienceMs !== undefined)
      void pause(patienceMs, undefined, { signal: given.signal, ref: false }).then(
        () => this.#watch.forget(id, tooLate()),
        () => undefined,
      );
    const request = await this.#watch.wait(id).finally(() => given.abort());
    if (request.state === 'fulfilled') return request;
    throw new HeddleError(
      'Failed',
      `request ${id} ${request.state === 'failed' ? 'cannot be served' : `was ${request.state}`}${describeWhy(request)}`,
    );
  }

  /**
   * Requests nodes, waits, and resolves to the ready nodes. `return` returns them; so does the end of their
   * lease.
   */
  async obtain(
    labels: readonly string[],
    options: DemandOptions & WaitForNodesOptions = {},
  ): Promise<RequestView> {
    const { patienceMs, ...demand } = options;
    const asked = await this.request(labels, demand);
    return asked.state === 'fulfilled' ? asked : this.waitFor(asked.id, { patienceMs });
  }

  /** Returns the nodes of a request. Idempotent. */
  async return(id: string): Promise<void> {
    await this.#returns.add(id);
  }

  async cancel(id: string): Promise<void> {
    await this.cancelMany([id]);
  }

  async cancelMany(ids: readonly string[]): Promise<void> {
    for (let from = 0; from < ids.length; from += perMessage) {
      await this.#end(ids.slice(from, from + perMessage), 'cancelled');
    }
  }

  /** Renews the lease; false if it has ended. */
  async renew(id: string): Promise<boolean> {
    return this.#renewals.add(id);
  }

  /**
   * Moves a waiting request in the queue: low priorities are served first.
   * @throws HeddleError Refused when it has its nodes already.
   */
  async setPriority(id: string, priority: number): Promise<void> {
    await this.update('change the priority', this.name, poolMessages.updates.priority, { id, priority });
  }

  /** All requests, or those with these ids; credentials of allocated nodes included. */
  async requests(ids?: readonly string[]): Promise<readonly RequestView[]> {
    const wanted = ids === undefined ? { since: 0 } : { ids };
    return (await this.query('requests', this.name, poolMessages.queries.requests, wanted)).requests;
  }

  view(): Promise<PoolView> {
    return this.query('pool', this.name, poolMessages.queries.pool);
  }

  /** The tenants whose requests wait, and for what; the one whose request is served next first. */
  waiting(): Promise<readonly TenantWaiting[]> {
    return this.query('waiting', this.name, poolMessages.queries.waiting);
  }

  /** What failed in the last day, the newest first. */
  failures(): Promise<readonly PoolFailure[]> {
    return this.query('failures', this.name, poolMessages.queries.failures);
  }

  spec(): Promise<PoolSpec | null> {
    return this.query('spec', this.name, poolMessages.queries.spec);
  }

  async nodes(): Promise<readonly PoolNodeView[]> {
    const nodes: PoolNodeView[] = [];
    for (let after = ''; ;) {
      const page: PoolNodesPage = await this.query('nodes', this.name, poolMessages.queries.nodes, after);
      nodes.push(...page.nodes);
      if (page.next === undefined) return nodes;
      after = page.next;
    }
  }

  /** Everything known about a node, the credentials to log in included. */
  async payload(nodeId: string): Promise<JsonObject> {
    const payload = await this.query('payload', this.name, poolMessages.queries.payload, nodeId);
    if (payload !== null) return payload;
    const next = `heddle pool nodes ${this.name}`;
    const message = `pool ${this.name} has no node ${nodeId}; run '${next}' to see its nodes`;
    throw new HeddleError('NotFound', message, { next });
  }

  async hold(nodeId: string, comment: string, forMs?: number): Promise<void> {
    await this.update('hold', this.name, poolMessages.updates.hold, { nodeId, by: this.by, comment, forMs });
  }

  /** Ends a hold; the node is then treated as a used one. */
  async endHold(nodeId: string): Promise<void> {
    await this.update('end hold', this.name, poolMessages.updates.endHold, { nodeId });
  }

  /** Returns those that are deleted: all of them, or with `withoutUser` those that have no user. */
  async deleteNodes(
    nodeIds: readonly string[],
    options: Pick<DeleteNodesRequest, 'abandon' | 'withoutUser'> = {},
  ): Promise<readonly string[]> {
    return this.update('delete', this.name, poolMessages.updates.deleteNodes, {
      nodeIds,
      by: this.by,
      ...options,
    });
  }

  /**
   * Deletes all nodes, also those in use, and the pool. Returns when it is accepted; `gone` waits for the
   * end.
   */
  async deletePool(): Promise<void> {
    await this.update('delete pool', this.name, poolMessages.updates.deletePool, { by: this.by });
  }

  /**
   * Stops the pool for a move to another server or namespace, and returns its records: it no longer creates,
   * deletes or allocates nodes. Waits until tasks in flight have ended. The same again returns the same
   * records. They contain credentials.
   * @throws HeddleError Refused with the reason.
   */
  async export(options: ExportOptions = {}): Promise<PoolRecords> {
    const { name } = this;
    await this.update('export', name, poolMessages.updates.export, { by: this.by });
    return this.awaitRecords(name, () => this.query('records', name, poolMessages.queries.records), options);
  }

  /**
   * Resumes the pool. Only if its records were not restored anywhere: otherwise two pools have the same
   * machines.
   */
  async cancelExport(): Promise<void> {
    await this.update('cancel the export', this.name, poolMessages.updates.export, {
      by: this.by,
      cancel: true,
    });
  }

  /**
   * Starts the pool with the records of an exported one. It may return to where it was exported from.
   * @throws HeddleError Refused if another pool of this name exists.
   */
  async restore(records: PoolRecords): Promise<{ readonly unchanged: boolean }> {
    const carried = restoredPool(
      records,
      await serverTime(this.temporal.connection, this.temporal.options.namespace),
    );
    return this.startRestored(this.name, records, carried, () => this.view());
  }

  /** Resolves when the pool has ended. */
  async gone(): Promise<void> {
    await this.handle(this.name).result();
  }

  protected override async send<Reply>(
    what: string,
    name: string,
    make: (handle: WorkflowHandle) => Promise<Reply>,
  ): Promise<Reply> {
    return super.send(what, name, make).catch((error: unknown) => {
      throw namesNoNode(error)
        ? new HeddleError('NotFound', error.message, { cause: error, next: `heddle pool nodes ${name}` })
        : error;
    });
  }

  #sendDemands(demands: readonly NodeDemand[]): Promise<readonly RequestView[]> {
    return this.#patiently(() => this.update('request', this.name, poolMessages.updates.request, demands));
  }

  async #end(ids: readonly string[], how: 'returned' | 'cancelled'): Promise<void> {
    const what = how === 'returned' ? 'return' : 'cancel';
    await this.#patiently(() => this.update(what, this.name, poolMessages.updates.end, { ids, how }));
  }

  /** Repeats an idempotent call while the pool is slow or its worker restarts. */
  async #patiently<Result>(ask: () => Promise<Result>): Promise<Result> {
    for (const until = Date.now() + outageMs; ;) {
      try {
        return await ask();
      } catch (error) {
        const passes =
          error instanceof HeddleError &&
          (['NoServer', 'Failed'].includes(error.code) || error.isBusy) &&
          !isClosed(error);
        if (!passes || Date.now() > until) throw error;
        await pause(500);
      }
    }
  }
}

/** Whether the pool refused an update because it has no such node. */
function namesNoNode(error: unknown): error is HeddleError {
  return (
    error instanceof HeddleError &&
    error.cause instanceof WorkflowUpdateFailedError &&
    error.cause.cause instanceof ApplicationFailure &&
    error.cause.cause.type === 'NotFound'
  );
}

function describeWhy({ declined = {}, waits }: RequestView): string {
  const whys = Object.entries(declined).map(([providerPool, why]) => `${providerPool}: ${why}`);
  const all = whys.length > 0 ? whys : waits === undefined ? [] : [waits];
  return all.length === 0 ? '' : `: ${all.join('; ')}`;
}
