import {
  allHandlersFinished,
  ApplicationFailure,
  CancellationScope,
  defineQuery,
  defineSignal,
  defineUpdate,
  isCancellation,
  log,
  makeContinueAsNewFunc,
  setCurrentDetails,
  setHandler,
  sleep,
  upsertMemo,
} from '@temporalio/workflow';
import type { Contract } from '../model/contract.js';
import { excessOf, type Bounds } from '../model/bounds.js';
import { jsonBytes, mostSent } from '../model/carried.js';
import { answerType, notYetType, readUpdateName } from '../model/messages/read.js';
import { originsOf, type Moved } from '../model/move.js';
import type { AnyFunction, AnyHandlers, Handlers, Refusal, RefusalOf } from './handlers.js';
import {
  condition,
  conditionOf,
  enqueue,
  hasMessages,
  isBehindEarlierTasks,
  takeMessages,
  takesMessages,
} from './inbox.js';
import { leaveMark, reachTime, recorded, taskTime } from './recorded.js';
import { ofMessage, requireNewStart } from './taken-messages.js';

/** What the base keeps about an entity during one run. An entity's own memory extends it. */
export interface EntityMemory {
  /** Counts changes that the step function must see. */
  changes: number;
  /** Updates accepted in this run; the server limits them. */
  updates: number;
  /** This run is ending: no new work starts. */
  draining: boolean;
  /** A new run was requested, e.g. by a cancellation of the workflow. */
  renew?: true;
  /** The state was too large for a next run when so many changes had been made. */
  tooLargeAt?: number;
  alarm?: { readonly at: number; readonly scope: CancellationScope };
}

/** A long-lived workflow: it accepts messages, acts on its state, and continues as new until it ends. */
export interface Entity<Result = string> {
  /** Identifies this entity among others that have had the same name; shown in the memo. */
  readonly uid?: string;
  readonly messages: readonly Message[];
  /** For an entity that the first message starts: it ends if that message is refused. */
  readonly first?: FirstMessage<Result>;
  /** Runs beside the steps during the whole run, e.g. to publish state. */
  readonly background?: readonly (() => Promise<never>)[];
  /** Does what the state and the clock call for. Called again after each change. */
  readonly step?: () => NextStep<Result> | Promise<NextStep<Result>>;
  /** Work in flight, which a new run would interrupt. Default: none. */
  readonly isBusy?: () => boolean;
  readonly budget?: HistoryBudget;
  /**
   * Brings work in flight to a point from which the next run continues. False if this run continues instead.
   */
  readonly drain?: () => boolean | void | Promise<boolean | void>;
  /** How long a workflow task of the next run may take, in ms. Default: as in this run. */
  readonly nextTaskTimeoutMs?: () => number;
  /** The state for the next run. */
  readonly carry: () => unknown;
  /** What that may have at most. */
  readonly bounds: Bounds;
  /** Called when the workflow is cancelled from outside, which never ends an entity. */
  readonly onCancel?: () => void;
  /** Markdown for the Web UI, built when it is requested. */
  readonly details?: () => string;
}

export type NextStep<Result = string> = { readonly ended: Result } | NextWake;

export interface NextWake {
  /** When to call the step function again if nothing changes before; ms since the epoch. */
  readonly wakeAt?: number;
  /** Continue in a new run. */
  readonly renew?: true;
}

interface FirstMessage<Result = string> {
  readonly isAccepted: () => boolean;
  readonly isRefused?: () => boolean;
  readonly withinMs: number;
  /** The result of a workflow whose first message was refused. */
  readonly otherwise: Result;
}

/**
 * When to continue as new. A worker that takes a workflow over replays its history, so an idle entity renews
 * early; a busy one has to drain first. The server's suggestion always counts for idle entities.
 */
interface HistoryBudget {
  /** Events after which an idle entity renews. */
  readonly idleEvents?: number;
  /** Events after which a busy entity drains and renews. Default: when the server suggests it. */
  readonly busyEvents?: number;
  /** A limit of the entity's own, e.g. on replay time. */
  readonly isExceeded?: () => boolean;
  /** While true, the entity does not renew. */
  readonly isPostponed?: () => boolean;
}

/**
 * About what a message or the result of an activity adds to a history. The length itself
 * depends on how many workflow tasks there were.
 */
const eventsPerInput = 4;
const maxUpdates = 1_500;

export function newMemory(): EntityMemory {
  return { changes: 0, updates: 0, draining: false };
}

/** The time of the workflow's clock, RFC 3339. */
export function now(): string {
  return new Date(Date.now()).toISOString();
}

/** Shows where an entity was moved from in its memo, which the sweep reads after its end too. */
export function showOrigins(moved: Moved): void {
  const origins = originsOf(moved);
  if (origins !== undefined) upsertMemo({ heddleOrigins: origins });
}

/**
 * The one way to change a state, which itself is never mutated. The next run gets no members
 * that are undefined.
 */
export function change<State>(
  memory: Pick<EntityMemory, 'changes'> & { state: State },
  part: Partial<State>,
): void {
  if (part === memory.state) return;
  memory.state = { ...memory.state, ...part };
  memory.changes += 1;
}

/** For changes outside of a state. */
export function noteChange(memory: Pick<EntityMemory, 'changes'>): void {
  memory.changes += 1;
}

/**
 * Runs an entity until it ends or continues as new. Cancelling the workflow would leave machines behind, so a
 * cancellation only calls `onCancel` and begins a new run, which can be cancelled again.
 */
export async function runEntity<Result = string>(
  memory: EntityMemory,
  entity: Entity<Result>,
): Promise<Result> {
  const cancelled = CancellationScope.current().cancelRequested;
  return CancellationScope.nonCancellable(() => live(memory, entity, cancelled));
}

async function live<Result>(
  memory: EntityMemory,
  entity: Entity<Result>,
  cancelled: Promise<never>,
): Promise<Result> {
  for (const register of entity.messages) register(memory);
  if (answers.size > 0) takeReads(memory);
  describeEntity = entity.details;
  cancelled.catch(() => {
    memory.renew = true;
    entity.onCancel?.();
    noteChange(memory);
  });
  await requireNewStart();
  void takeMessages();
  if (entity.uid !== undefined) upsertMemo({ heddleUid: entity.uid });
  if (entity.first !== undefined && !(await isWanted(entity.first))) return entity.first.otherwise;
  for (const run of entity.background ?? []) void run();
  for (;;) {
    const seen = memory.changes;
    const next = (await entity.step?.()) ?? {};
    if ('ended' in next) {
      // Clients that wait for a reply ask the workflow itself.
      await condition(allHandlersFinished);
      return next.ended;
    }
    setAlarm(memory, next.wakeAt);
    const mayRenew = (): boolean =>
      (next.renew === true && !isKept(memory)) || isBudgetExceeded(memory, entity);
    await conditionOf('step', () => memory.changes !== seen || mayRenew());
    if (!mayRenew() || isTooLarge(memory, entity)) continue;
    memory.draining = true;
    if ((await entity.drain?.()) !== false) {
      memory.alarm?.scope.cancel();
      await condition(allHandlersFinished);
      const continueAsNew = makeContinueAsNewFunc({ workflowTaskTimeout: entity.nextTaskTimeoutMs?.() });
      return continueAsNew({ carried: entity.carry() });
    }
    memory.draining = false;
  }
}

/** Changes after which it is checked again whether the state fits into a message. */
const changesUntilCheck = 100;

/** This run continues although its budget is exceeded, because a next run could not get its state. */
function isKept({ changes, tooLargeAt }: EntityMemory): boolean {
  return tooLargeAt !== undefined && changes < tooLargeAt + changesUntilCheck;
}

/** A last resort: messages that would make the state so large are refused. */
function isTooLarge<Result>(memory: EntityMemory, entity: Entity<Result>): boolean {
  const carried = entity.carry();
  const bytes = jsonBytes(carried);
  delete memory.tooLargeAt;
  if (bytes <= mostSent) return false;
  memory.tooLargeAt = memory.changes;
  log.error('the state is too large for a next run, so this one continues; delete what is no longer needed', {
    bytes,
    limit: mostSent,
    parts: excessOf(entity.bounds, carried),
  });
  return true;
}

async function isWanted({
  isAccepted,
  isRefused,
  withinMs,
}: Omit<FirstMessage, 'otherwise'>): Promise<boolean> {
  await condition(() => isAccepted() || isRefused?.() === true, withinMs);
  await condition(allHandlersFinished);
  return isAccepted();
}

/** Whether this run should end as soon as it can. */
export function isBudgetExceeded(
  memory: EntityMemory,
  { budget = {}, isBusy }: Pick<Entity<never>, 'budget' | 'isBusy'> = {},
): boolean {
  if (budget.isPostponed?.() === true || isKept(memory)) return false;
  if (memory.renew === true || memory.updates > maxUpdates || budget.isExceeded?.() === true) return true;
  const { continueAsNewSuggested, isLarge, inputs } = recorded();
  if (isLarge) return true;
  const events = inputs * eventsPerInput;
  const { idleEvents = Infinity, busyEvents } = budget;
  if (isBusy?.() === true) return busyEvents === undefined ? continueAsNewSuggested : events > busyEvents;
  return continueAsNewSuggested || events > idleEvents;
}

/** Keeps one timer, the earliest: each costs events. */
function setAlarm(memory: EntityMemory, at: number | undefined): void {
  if (at === undefined || (memory.alarm !== undefined && memory.alarm.at <= at)) return;
  memory.alarm?.scope.cancel();
  const scope = new CancellationScope({ cancellable: true });
  const alarm = { at, scope };
  memory.alarm = alarm;
  scope
    .run(() => sleep(Math.max(1, at - taskTime())))
    .then(
      () => {
        reachTime(at);
        if (memory.alarm === alarm) delete memory.alarm;
        noteChange(memory);
      },
      (error: unknown) => {
        if (!isCancellation(error)) throw error;
      },
    );
}

/** Each run of a workflow has its own instance of this module. */
let describeEntity: (() => string) | undefined;

/** Builds the details that the Web UI is about to read. */
export function refreshDetails(): void {
  if (describeEntity !== undefined) setCurrentDetails(describeEntity());
}

/** One row of an entity's message table; the message guard has checked the shape of what arrives. */
export type Message = (memory: EntityMemory) => void;

/** Makes validators that refuse first of all for this reason. */
export function refusing(
  why: () => Refusal | undefined,
): <Args extends unknown[]>(
  refusalOf?: (...args: Args) => Refusal | undefined,
) => (...args: Args) => Refusal | undefined {
  return (refusalOf) =>
    (...args) =>
      why() ?? refusalOf?.(...args);
}

/** The messages of a workflow. A message of the contract without a handler does not compile. */
export function handlersOf<const Of extends Contract>(
  contract: Of,
  handlers: Handlers<Of>,
): readonly Message[] {
  const { updates = {}, signals = {}, queries = {} } = handlers as Readonly<Partial<AnyHandlers>>;
  return [
    ...Object.entries(updates).map(([name, handler]) => {
      const [handle, refusalOf] = typeof handler === 'function' ? [handler] : handler;
      return update(name, contract.updates[name]?.summary, handle, refusalOf);
    }),
    ...Object.entries(signals).map(([name, handle]) => signal(name, contract.signals[name]?.summary, handle)),
    ...Object.entries(queries).map(([name, answer]) => query(name, contract.queries[name]?.summary, answer)),
  ];
}

/**
 * Every update has a validator: without one, the SDK runs no interceptor before it accepts the update and
 * writes it to the history.
 */
function update(
  name: string,
  description: string | undefined,
  handle: AnyFunction,
  refusalOf: RefusalOf = () => undefined,
): Message {
  return (memory) => {
    const refuseThese = (...args: unknown[]): void => refuse(refusalOf(...args));
    const validator = (...args: unknown[]): void => {
      if (!isBehindEarlierTasks()) refuseThese(...args);
    };
    const accept = (...args: unknown[]): Promise<unknown> =>
      enqueue(
        ofMessage(() => {
          memory.updates += 1;
          noteChange(memory);
          // What arrived with the update may have changed what the validator saw.
          refuseThese(...args);
          const result = handle(...args);
          return result instanceof Promise ? result.finally(() => noteChange(memory)) : result;
        }),
      );
    setHandler(defineUpdate<unknown, unknown[]>(name), accept, { validator, description });
  };
}

function signal(name: string, description: string | undefined, handle: AnyFunction): Message {
  return (memory) => {
    const accept = (...args: unknown[]): Promise<void> =>
      enqueue(
        ofMessage(() => {
          leaveMark();
          noteChange(memory);
          handle(...args);
        }),
      );
    setHandler(defineSignal<unknown[]>(name), accept, { description });
  };
}

/** Each run of a workflow has its own instance of this module. */
const answers = new Map<string, AnyFunction>();

function query(name: string, description: string | undefined, answer: AnyFunction): Message {
  return () => {
    setHandler(defineQuery<unknown, unknown[]>(name), answer, { description });
    answers.set(name, answer);
  };
}

/**
 * The validator answers. It runs before what came with the read is taken in, so it asks for a
 * repetition, which comes in a later workflow task. A worker that keeps no workflow gets results of
 * earlier tasks with the repetition, too, and accepts it; so does a workflow that has just been started.
 */
function takeReads(memory: EntityMemory): void {
  const answer = (name: string, args: readonly unknown[]): unknown => answers.get(name)?.(...args);
  const accept = (_isRepeated: boolean, name: string, ...args: unknown[]): Promise<unknown> =>
    enqueue(() => {
      memory.updates += 1;
      return answer(name, args);
    });
  const validator = (isRepeated: boolean, name: string, ...args: unknown[]): void => {
    if (isRepeated && (isBehindEarlierTasks() || !takesMessages())) return;
    if (!isRepeated && (isBehindEarlierTasks() || hasMessages() || !takesMessages()))
      throw ApplicationFailure.nonRetryable('the state is not up to date yet', notYetType);
    throw ApplicationFailure.create({ type: answerType, nonRetryable: true, details: [answer(name, args)] });
  };
  setHandler(defineUpdate<unknown, [boolean, string, ...unknown[]]>(readUpdateName), accept, {
    validator,
    description: 'Answers one of the queries, usually by a refusal, which the history does not record.',
  });
}

/** @throws ApplicationFailure with the refusal, if there is one. */
export function refuse(refusal: Refusal | undefined): void {
  if (refusal === undefined) return;
  const { is, why } = typeof refusal === 'string' ? { is: 'Refused', why: refusal } : refusal;
  throw ApplicationFailure.nonRetryable(why, is);
}
