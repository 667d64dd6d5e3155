import { randomUUID } from 'node:crypto';
import { hostname, userInfo } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import {
  WithStartWorkflowOperation,
  WorkflowUpdateFailedError,
  type Client,
  type WorkflowHandle,
} from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { JsonObject } from '../../model/json.js';
import { coreQueue, poolWorkflowId, poolWorkflowType } from '../../model/names.js';
import type { ConfigureReply, PoolStart } from '../../model/pool/messages.js';
import type { NodeDemand } from '../../model/pool/request.js';
import type { PoolSpec } from '../../model/pool/spec.js';
import type { PoolNodesPage, PoolNodeView, PoolView, RequestView } from '../../model/pool/view.js';
import {
  configureUpdate,
  deleteNodesUpdate,
  deletePoolUpdate,
  endHoldUpdate,
  endUpdate,
  holdUpdate,
  nodePayloadQuery,
  poolNodesQuery,
  poolQuery,
  poolSpecQuery,
  renewUpdate,
  requestsQuery,
  requestUpdate,
} from '../../workflows/pool/messages.js';
import { call } from '../call.js';
import { HeddleError } from '../errors.js';
import { Batch } from './batch.js';
import { Watch } from './watch.js';

/** Requests that one message carries. */
const perMessage = 100;
/** How long a wait outlasts silence: workers are restarted, and a long history is read anew. */
const silenceMs = 120_000;

export interface PoolClientOptions {
  /** Who asks; `user@host` unless given. */
  readonly by?: string;
}

export type DemandOptions = Partial<Omit<NodeDemand, 'labels'>>;

export interface WaitForNodesOptions {
  readonly patienceMs?: number;
}

/**
 * Everything a user does with one pool. Calls that are made at the same time go to the pool in one message,
 * so one client for many requests is far quicker than many clients.
 */
export class PoolClient {
  readonly name: string;
  readonly #temporal: Client;
  readonly #by: string;
  readonly #demands: Batch<NodeDemand, RequestView>;
  readonly #returns: Batch<string, true>;
  readonly #renewals: Batch<string, boolean>;
  readonly #watch: Watch;

  constructor(temporal: Client, name: string, options: PoolClientOptions = {}) {
    this.name = name;
    this.#temporal = temporal;
    this.#by = options.by ?? `${userInfo().username}@${hostname()}`;
    this.#demands = new Batch(
      (demands) =>
        this.#surely('request', (handle) => handle.executeUpdate(requestUpdate, { args: [demands] })),
      perMessage,
    );
    this.#returns = new Batch(async (ids) => {
      await this.#surely('return', (handle) =>
        handle.executeUpdate(endUpdate, { args: [{ ids, how: 'returned' }] }),
      );
      return ids.map(() => true);
    }, perMessage);
    this.#renewals = new Batch(async (ids) => {
      const gone = new Set(
        await this.#surely('renew', (handle) => handle.executeUpdate(renewUpdate, { args: [ids] })),
      );
      return ids.map((id) => !gone.has(id));
    }, perMessage);
    this.#watch = new Watch((wanted) =>
      this.#patiently(() => this.#call('requests', (handle) => handle.query(requestsQuery, wanted))),
    );
  }

  /**
   * Brings the pool to a configuration; makes the pool when there is none.
   * @throws HeddleError Refused with what is wrong.
   */
  async apply(spec: PoolSpec): Promise<ConfigureReply> {
    const input: PoolStart = { heddle: { uid: randomUUID() } };
    const startWorkflowOperation = new WithStartWorkflowOperation<(input: PoolStart) => Promise<string>>(
      poolWorkflowType,
      {
        workflowId: poolWorkflowId(this.name),
        taskQueue: coreQueue,
        args: [input],
        workflowIdConflictPolicy: 'USE_EXISTING',
        staticSummary: `pool ${this.name}`,
      },
    );
    return call(this.#temporal, `apply pool ${this.name}`, () =>
      this.#temporal.workflow.executeUpdateWithStart(configureUpdate, {
        args: [{ spec, by: this.#by }],
        startWorkflowOperation,
      }),
    );
  }

  /**
   * Asks for a node of each label. Those that are ready come with the answer; `waitFor` waits for the others.
   */
  async request(labels: readonly string[], options: DemandOptions = {}): Promise<RequestView> {
    const { id = randomUUID(), requester = this.#by } = options;
    return this.#demands.add({ ...options, id, requester, labels });
  }

  /**
   * Asks so many times for a node of each label, in few messages: all of these requests are taken, or none.
   */
  async requestMany(
    count: number,
    labels: readonly string[],
    options: Omit<DemandOptions, 'id'> = {},
  ): Promise<readonly RequestView[]> {
    const demands = Array.from({ length: count }, (): NodeDemand => ({
      ...options,
      requester: options.requester ?? this.#by,
      id: randomUUID(),
      labels,
    }));
    const taken: RequestView[] = [];
    try {
      while (taken.length < count) {
        const batch = demands.slice(taken.length, taken.length + perMessage);
        taken.push(
          ...(await this.#surely('request', (handle) =>
            handle.executeUpdate(requestUpdate, { args: [batch] }),
          )),
        );
      }
    } catch (error) {
      await this.cancelMany(taken.map(({ id }) => id));
      throw error;
    }
    return taken;
  }

  /**
   * Waits until a request is fulfilled, through restarts of workers and server.
   * @throws HeddleError Failed when it cannot be, saying why.
   */
  async waitFor(id: string, { patienceMs }: WaitForNodesOptions = {}): Promise<RequestView> {
    const given = new AbortController();
    const tooLate = (): HeddleError =>
      new HeddleError(
        'Failed',
        `request ${id} was not fulfilled within ${Math.round((patienceMs ?? 0) / 1_000)} s; it goes on waiting`,
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
   * Asks and waits: the nodes, ready to be used. They are given back by `giveBack`, or when their lease ends.
   */
  async obtain(
    labels: readonly string[],
    options: DemandOptions & WaitForNodesOptions = {},
  ): Promise<RequestView> {
    const { patienceMs, ...demand } = options;
    const asked = await this.request(labels, demand);
    return asked.state === 'fulfilled'
      ? asked
      : this.waitFor(asked.id, patienceMs === undefined ? {} : { patienceMs });
  }

  /** Gives the nodes of a request back. It may be asked again. */
  async giveBack(id: string): Promise<void> {
    await this.#returns.add(id);
  }

  async cancel(id: string): Promise<void> {
    await this.cancelMany([id]);
  }

  async cancelMany(ids: readonly string[]): Promise<void> {
    for (let from = 0; from < ids.length; from += perMessage) {
      const batch = ids.slice(from, from + perMessage);
      await this.#surely('cancel', (handle) =>
        handle.executeUpdate(endUpdate, { args: [{ ids: batch, how: 'cancelled' }] }),
      );
    }
  }

  /** Begins the lease anew; false when there is nothing to renew any more. */
  async renew(id: string): Promise<boolean> {
    return this.#renewals.add(id);
  }

  /** All of them, or those with these ids; credentials of handed-out nodes included. */
  async requests(ids?: readonly string[]): Promise<readonly RequestView[]> {
    const { requests } = await this.#call('requests', (handle) =>
      handle.query(requestsQuery, ids === undefined ? { since: 0 } : { ids }),
    );
    return requests;
  }

  async view(): Promise<PoolView> {
    return this.#call('pool', (handle) => handle.query(poolQuery));
  }

  async spec(): Promise<PoolSpec | null> {
    return this.#call('spec', (handle) => handle.query(poolSpecQuery));
  }

  async nodes(): Promise<readonly PoolNodeView[]> {
    const nodes: PoolNodeView[] = [];
    for (let after: string | undefined; ;) {
      const page: PoolNodesPage = await this.#call('nodes', (handle) =>
        handle.query(poolNodesQuery, after ?? ''),
      );
      nodes.push(...page.nodes);
      if (page.next === undefined) return nodes;
      after = page.next;
    }
  }

  /** Everything that is known of a node, the credentials to log in with included. */
  async payload(nodeId: string): Promise<JsonObject> {
    const payload = await this.#call('payload', (handle) => handle.query(nodePayloadQuery, nodeId));
    if (payload === null)
      throw new HeddleError(
        'NotFound',
        `pool ${this.name} has no node ${nodeId}; 'heddle pool nodes ${this.name}' shows those it has`,
        { next: `heddle pool nodes ${this.name}` },
      );
    return payload;
  }

  async hold(nodeId: string, comment: string, forMs?: number): Promise<void> {
    const request = { nodeId, by: this.#by, comment, forMs };
    await this.#call('hold', (handle) => handle.executeUpdate(holdUpdate, { args: [request] }));
  }

  /** After that the node is treated as a used one. */
  async endHold(nodeId: string): Promise<void> {
    await this.#call('end hold', (handle) => handle.executeUpdate(endHoldUpdate, { args: [{ nodeId }] }));
  }

  async deleteNodes(nodeIds: readonly string[], options: { readonly abandon?: true } = {}): Promise<void> {
    await this.#call('delete', (handle) =>
      handle.executeUpdate(deleteNodesUpdate, { args: [{ nodeIds, by: this.#by, ...options }] }),
    );
  }

  /**
   * Deletes all nodes, those in use too, and then the pool. Returns when it is accepted; `gone` waits for the
   * end.
   */
  async deletePool(): Promise<void> {
    await this.#call('delete pool', (handle) =>
      handle.executeUpdate(deletePoolUpdate, { args: [{ by: this.#by }] }),
    );
  }

  /** Resolves when the pool has ended. */
  async gone(): Promise<void> {
    await this.#handle().result();
  }

  #call<Result>(what: string, ask: (handle: WorkflowHandle) => Promise<Result>): Promise<Result> {
    return call(this.#temporal, `${what} ${this.name}`, () => ask(this.#handle())).catch((error: unknown) => {
      if (namesNoNode(error))
        throw new HeddleError('NotFound', error.message, {
          cause: error,
          next: `heddle pool nodes ${this.name}`,
        });
      if (!(error instanceof HeddleError) || error.code !== 'NotFound') throw error;
      throw new HeddleError(
        'NotFound',
        `there is no pool ${this.name}; 'heddle pool list' shows those there are`,
        { cause: error, next: 'heddle pool list' },
      );
    });
  }

  /**
   * For what may be asked twice: a busy pool may take long to answer, and a worker is restarted now and then.
   */
  #surely<Result>(what: string, ask: (handle: WorkflowHandle) => Promise<Result>): Promise<Result> {
    return this.#patiently(() => this.#call(what, ask));
  }

  async #patiently<Result>(ask: () => Promise<Result>): Promise<Result> {
    for (const until = Date.now() + silenceMs; ;) {
      try {
        return await ask();
      } catch (error) {
        const passes =
          (error instanceof HeddleError && ['NoServer', 'Failed'].includes(error.code)) ||
          (error instanceof HeddleError &&
            error.code === 'NoWorker' &&
            error.message.includes('none answers'));
        if (!passes || Date.now() > until) throw error;
        await pause(500);
      }
    }
  }

  #handle(): WorkflowHandle {
    return this.#temporal.workflow.getHandle(poolWorkflowId(this.name));
  }
}

/** The pool is there, and refused because a node is not. */
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
