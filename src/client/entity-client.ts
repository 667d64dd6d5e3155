import { hostname, userInfo } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import {
  WithStartWorkflowOperation,
  WorkflowExecutionAlreadyStartedError,
  type Client,
  type QueryDefinition,
  type UpdateDefinition,
  type Workflow,
  type WorkflowStartOptions,
  type WorkflowHandle,
  type WorkflowIdReusePolicy,
} from '@temporalio/client';
import pLimit, { type LimitFunction } from 'p-limit';
import { workflowQueue } from '../model/names.js';
import { workflowTaskMs } from '../model/resumption.js';
import type { Moved, Records, RecordsReply } from '../model/move.js';
import { call } from './call.js';
import { HeddleError } from './errors.js';
import { readInstallation } from './installation.js';
import { listRunning } from './list.js';
import { seals } from './seal-messages.js';
import { explainStuck } from './stuck.js';
import { read } from './read.js';

export interface WaitUntilOptions<View> {
  /** Between queries, in ms; 400 by default. */
  readonly everyMs?: number;
  readonly signal?: AbortSignal;
  /** Called with each view. */
  readonly onView?: (view: View) => void;
  /** Called when a query fails for a transient reason: no server, or no worker. */
  readonly onSilence?: (error: HeddleError) => void;
  /** Longest outage of server and workers that is waited out, in ms; 5 minutes by default. */
  readonly patienceMs?: number;
}

/** What identifies the workflow of an entity, and the words of its error messages. */
export interface EntityKind {
  /** `image`. */
  readonly noun: string;
  readonly workflowType: string;
  readonly workflowId: (name: string) => string;
  /** The command that lists them. */
  readonly listCommand: string;
}

export interface StartRequest {
  /** In ms, or the server's own limit; `workflowTaskMs` by default. */
  readonly workflowTaskTimeout?: number | 'server';
  readonly staticSummary: string;
  readonly staticDetails?: string;
  readonly args: readonly unknown[];
  /** Arguments for the first run of this workflow id within the server's retention. */
  readonly firstArgs?: readonly unknown[];
}

const missingPlugin =
  "this Temporal client does not have Heddle's plugin, so it can neither encrypt messages nor read answers; " +
  "create it with new Client({ …, plugins: [heddle({ keys })] }), with heddle from 'heddle/temporal' and the output of 'heddle keys export' as keys";

/** The server's limit of a fairness key, in bytes; names of entities are ASCII. */
const maxFairnessKey = 64;

/**
 * Updates that a client has on the way to one workflow; further ones wait. The server takes 10, and when it
 * refuses one more, it forgets those that no worker has accepted yet: on a busy machine many clients would
 * repeat theirs forever.
 */
const maxUpdates = 5;
const updatePermits = new WeakMap<Client, Map<string, LimitFunction>>();

export interface ExportOptions {
  readonly signal?: AbortSignal;
  /** What has not ended yet. */
  readonly onWait?: (awaits: readonly string[]) => void;
}

/** What the clients of all resources share: one long-lived workflow per entity, reached by its name. */
export abstract class EntityClient {
  readonly temporal: Client;
  /** The requester that operations record. */
  protected readonly by: string;
  readonly #kind: EntityKind;

  /** @throws HeddleError Encryption if the Temporal client does not have Heddle's plugin. */
  constructor(temporal: Client, kind: EntityKind, by = `${userInfo().username}@${hostname()}`) {
    if (!seals(temporal)) throw new HeddleError('Encryption', missingPlugin);
    this.temporal = temporal;
    this.by = by;
    this.#kind = kind;
  }

  /** @throws HeddleError Refused when the workflow rejects the update, NotFound when it does not run. */
  protected update<Reply, Args extends unknown[]>(
    what: string,
    name: string,
    definition: UpdateDefinition<Reply, Args>,
    ...args: Args
  ): Promise<Reply> {
    const update = definition as unknown as UpdateDefinition<Reply, [unknown]>;
    return this.send(what, name, (handle) =>
      this.#withPermit(name, () => handle.executeUpdate(update, { args: args as unknown as [unknown] })),
    );
  }

  /** Sends an update to the entity's workflow and starts it first unless it runs. */
  protected updateWithStart<Reply, Request>(
    what: string,
    name: string,
    definition: UpdateDefinition<Reply, [Request]>,
    request: Request,
    { args, firstArgs, workflowTaskTimeout = workflowTaskMs, ...start }: StartRequest,
  ): Promise<Reply> {
    const { workflowType } = this.#kind;
    const send = (
      input: readonly unknown[],
      workflowIdReusePolicy: WorkflowIdReusePolicy,
    ): Promise<Reply> => {
      // An operation object is for one call.
      const startWorkflowOperation = new WithStartWorkflowOperation<Workflow>(workflowType, {
        ...start,
        ...this.#startOptions(name),
        workflowTaskTimeout: workflowTaskTimeout === 'server' ? undefined : workflowTaskTimeout,
        args: [...input],
        workflowIdConflictPolicy: 'USE_EXISTING',
        workflowIdReusePolicy,
      });
      return this.temporal.workflow.executeUpdateWithStart(definition, {
        args: [request],
        startWorkflowOperation,
      });
    };
    const make = async (): Promise<Reply> => {
      if (firstArgs !== undefined) {
        try {
          return await send(firstArgs, 'REJECT_DUPLICATE');
        } catch (error) {
          if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
        }
      }
      return send(args, 'ALLOW_DUPLICATE');
    };
    const options = { workflowId: this.#kind.workflowId(name) };
    return call(this.temporal, what, () => this.#withPermit(name, make), options).catch((error: unknown) =>
      this.#explain(name, error),
    );
  }

  async #withPermit<Reply>(name: string, make: () => Promise<Reply>): Promise<Reply> {
    const permits = updatePermits.get(this.temporal) ?? new Map<string, LimitFunction>();
    updatePermits.set(this.temporal, permits);
    const workflowId = this.#kind.workflowId(name);
    const limit = permits.get(workflowId) ?? pLimit(maxUpdates);
    permits.set(workflowId, limit);
    try {
      return await limit(make);
    } finally {
      if (limit.activeCount + limit.pendingCount === 0) permits.delete(workflowId);
    }
  }

  #startOptions(name: string): Pick<WorkflowStartOptions, 'workflowId' | 'taskQueue' | 'priority'> {
    const workflowId = this.#kind.workflowId(name);
    return {
      workflowId,
      taskQueue: workflowQueue,
      // Its tasks and those of its groups inherit the key: the server alternates them with the tasks of other
      // entities.
      priority: { fairnessKey: workflowId.slice(0, maxFairnessKey) },
    };
  }

  /** Waits until an exported entity has nothing in flight. */
  protected async awaitRecords<Carried extends Moved>(
    name: string,
    ask: () => Promise<RecordsReply<Carried> | null>,
    { signal, onWait }: ExportOptions,
  ): Promise<Records<Carried>> {
    const reply = await waitUntil(
      ask,
      (answer) => (answer !== null && 'awaits' in answer ? undefined : (answer ?? 'cancelled')),
      {
        signal,
        onView: (answer) => {
          if (answer !== null && 'awaits' in answer) onWait?.(answer.awaits);
        },
      },
    );
    if (reply === 'cancelled')
      throw new HeddleError('Refused', `the export of ${this.#kind.noun} ${name} was cancelled`);
    const installation = await call(this.temporal, 'read the namespace', () =>
      readInstallation(this.temporal),
    );
    return { ...reply.records, installation };
  }

  /**
   * Starts an entity with the records of an exported one. It replaces an exported one that it had moved away
   * from.
   * @throws HeddleError Refused if another one of this name exists.
   */
  protected startRestored<Carried extends Moved & { readonly name: string }>(
    name: string,
    records: Records<Carried>,
    carried: Carried,
    show: () => Promise<Moved>,
  ): Promise<{ readonly unchanged: boolean }> {
    const { noun, workflowType } = this.#kind;
    if (carried.name !== name)
      throw new HeddleError('Refused', `these are the records of ${noun} ${carried.name}, not of ${name}`);
    const start = (workflowIdConflictPolicy: 'FAIL' | 'TERMINATE_EXISTING'): Promise<unknown> =>
      this.temporal.workflow.start(workflowType, {
        ...this.#startOptions(name),
        workflowTaskTimeout: workflowTaskMs,
        args: [{ carried }],
        workflowIdConflictPolicy,
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        staticSummary: `${noun} ${name}`,
      });
    return call(this.temporal, `restore ${noun} ${name}`, async () => {
      try {
        await start('FAIL');
      } catch (cause) {
        if (!(cause instanceof WorkflowExecutionAlreadyStartedError)) throw cause;
        const { exported, restored } = await show();
        if (restored?.from === records.exported.id) return { unchanged: true };
        const hasReturned = records.carried.moves?.some((move) => move.export === exported?.id) === true;
        if (!hasReturned)
          throw new HeddleError(
            'Refused',
            `${noun} ${name} already exists; restore these records with another server or namespace`,
            { cause },
          );
        await start('TERMINATE_EXISTING');
      }
      return { unchanged: false };
    });
  }

  protected query<Reply, Args extends unknown[]>(
    what: string,
    name: string,
    definition: QueryDefinition<Reply, Args>,
    ...args: Args
  ): Promise<Reply> {
    return this.send(what, name, (handle) => read(handle, definition, ...args));
  }

  protected async send<Reply>(
    what: string,
    name: string,
    make: (handle: WorkflowHandle) => Promise<Reply>,
  ): Promise<Reply> {
    try {
      const workflowId = this.#kind.workflowId(name);
      return await call(this.temporal, `${what} ${name}`.trimEnd(), () => make(this.handle(name)), {
        workflowId,
      });
    } catch (error) {
      if (error instanceof HeddleError && error.code === 'NotFound') throw this.notFound(name, error);
      return this.#explain(name, error);
    }
  }

  /** Workers may answer, and not be able to continue this workflow. */
  async #explain(name: string, error: unknown): Promise<never> {
    throw await explainStuck(this.temporal, this.#kind.workflowId(name), error);
  }

  /** The error for an entity whose workflow does not run. */
  protected notFound(name: string, cause?: HeddleError): HeddleError {
    const { noun, listCommand } = this.#kind;
    const message = `${noun} ${name} does not exist; run '${listCommand}' to see the existing ones`;
    return new HeddleError('NotFound', message, { cause, next: listCommand });
  }

  protected handle(name: string): WorkflowHandle {
    return this.temporal.workflow.getHandle(this.#kind.workflowId(name));
  }

  /** Views of all entities that run; those that do not answer are named in `silent`. */
  protected async views<View extends object>(
    show: (name: string) => Promise<View>,
  ): Promise<{ readonly views: readonly View[]; readonly silent: readonly string[] }> {
    const { noun, workflowType } = this.#kind;
    const running = await call(this.temporal, `list ${noun}s`, () =>
      listRunning(this.temporal, workflowType),
    );
    const seen = await Promise.all(running.map(({ name }) => show(name).catch(() => name)));
    return {
      views: seen.filter((one) => typeof one !== 'string'),
      silent: seen.filter((one) => typeof one === 'string'),
    };
  }
}

/**
 * Queries until `resultOf` gives a result, at first more often than `everyMs`; waits out restarts of workers
 * and server.
 * @param progress where the workflow is, which changes while a worker carries it out. One that is very busy
 * may leave
 *   queries unanswered for minutes.
 */
export async function waitUntil<View, Result>(
  query: () => Promise<View>,
  resultOf: (view: View) => Result | undefined,
  { everyMs = 400, signal, onView, onSilence, patienceMs = 5 * 60_000 }: WaitUntilOptions<View> = {},
  progress?: () => Promise<string>,
): Promise<Result> {
  const beganAt = Date.now();
  let reached: string | undefined;
  const interval = (): number => Math.min(everyMs, Math.max(50, (Date.now() - beganAt) / 10));
  for (let answeredAt = beganAt; ; await pause(interval(), undefined, { signal })) {
    let view: View;
    try {
      view = await query();
    } catch (error) {
      if (!isOutage(error)) throw error;
      const now = await progress?.().catch(() => reached);
      if (now !== reached) answeredAt = Date.now();
      reached = now;
      if (Date.now() - answeredAt > patienceMs) throw error;
      onSilence?.(error);
      continue;
    }
    answeredAt = Date.now();
    onView?.(view);
    const result = resultOf(view);
    if (result !== undefined) return result;
  }
}

function isOutage(error: unknown): error is HeddleError {
  return error instanceof HeddleError && (error.code === 'NoWorker' || error.code === 'NoServer');
}
