import {
  ApplicationFailure,
  defineUpdate,
  ParentClosePolicy,
  setHandler,
  workflowInfo,
  type WorkflowExecuteInput,
  type WorkflowInboundCallsInterceptor,
  type WorkflowInterceptors,
  type WorkflowOutboundCallsInterceptor,
} from '@temporalio/workflow';
import {
  isEnvelope,
  openMessage,
  purposeOf,
  sealMessage,
  type MessageKind,
} from '../model/messages/envelope.js';
import type { Seal } from '../model/messages/seal.js';
import { readUpdateName } from '../model/messages/read.js';
import { argumentsOf, checkArguments, isHeddleMessage, contractOf } from '../model/messages/table.js';
import { numberedSignals, type MessageRefusal } from '../model/messages/taken.js';
import { clusterEventSignalName } from '../model/names.js';
import type { Arguments, Contract } from '../model/contract.js';
import { refreshDetails } from './entity.js';
import {
  failIfUnopened,
  keyOfMessage,
  notePayloadKeys,
  refusalOfSignal,
  requireAllOpen,
  requireOpenStart,
} from './payload-keys.js';
import { leaveMark, taskTime } from './recorded.js';
import {
  ignore,
  isSetBack,
  noteAnswer,
  noteMessage,
  refusalOfMessage,
  requireNewStart,
  sealOfChild,
  sealOfNextRun,
  sealOfSignal,
  takeStart,
} from './taken-messages.js';

/**
 * The one place where messages enter and leave Heddle's workflows. A handler gets only messages that were
 * sealed for exactly this workflow and message, in the shape of the message table, so it may trust their
 * types. Workflows of other types in the same bundle are left alone, except that their messages to Heddle's
 * workflows are sealed.
 */
export const interceptors = (): WorkflowInterceptors => ({
  inbound: [inbound],
  outbound: [outbound],
  internals: [
    {
      activate(input, next) {
        const messages = contractOf(workflowInfo().workflowType);
        const { activation } = input;
        (messages === undefined ? requireAllOpen : notePayloadKeys)(activation.jobs ?? []);
        if (messages !== undefined && activation.jobs) {
          // The SDK keeps signals without a handler in memory for the whole run.
          activation.jobs = activation.jobs.filter(({ signalWorkflow }) => {
            const name = signalWorkflow?.signalName ?? '';
            if (!signalWorkflow || argumentsOf(messages, 'signals', name) !== undefined) return true;
            ignore(name, 'this workflow has no such signal');
            return false;
          });
        }
        // Built-in queries skip the inbound interceptors.
        if (activation.jobs?.some(({ queryWorkflow: asked }) => asked?.queryType === metadataQuery))
          refreshDetails();
        next(input);
      },
      concludeActivation(input, next) {
        failIfUnopened();
        return next(input);
      },
    },
  ],
});

const metadataQuery = '__temporal_workflow_metadata';

const inbound: WorkflowInboundCallsInterceptor = {
  async execute(input, next) {
    const messages = contractOf(workflowInfo().workflowType);
    if (messages === undefined) return next(input);
    let args: readonly unknown[];
    try {
      args = openStart(messages, input);
    } catch (error) {
      if (error instanceof ApplicationFailure) refuseUpdates(messages, error);
      throw error;
    }
    // Entities wait for it themselves, once they can take updates.
    if (Object.keys(messages.updates).length === 0) await requireNewStart();
    return next({ ...input, args: [...args] });
  },
  // The SDK calls this only for updates that have a validator.
  validateUpdate(input, next) {
    if (startRefusal !== undefined) throw startRefusal;
    next({ ...input, args: openUpdate(input.name, input.args).args });
  },
  async handleUpdate(input, next) {
    // Another one with the same envelope may have come since the validator ran.
    const { args, seal } = openUpdate(input.name, input.args);
    if (seal === undefined) return next({ ...input, args });
    noteMessage(seal);
    const answer: unknown = await next({ ...input, args });
    noteAnswer(seal, answer);
    return answer;
  },
  async handleSignal(input, next) {
    const messages = contractOf(workflowInfo().workflowType);
    if (messages === undefined) return next(input);
    const { signalName: name } = input;
    const lookup = refusalOfSignal(keyOfMessage(input.headers));
    const refusal = lookup === undefined ? undefined : await lookup;
    if (refusal !== undefined) return ignore(name, refusal);
    const now = taskTime();
    const shapes = argumentsOf(messages, 'signals', name);
    const opened = tryOpen('signal', name, { args: input.args, shapes, now });
    if (!opened.ok) {
      // A replay must not find another time here.
      if (input.args.some((arg) => isEnvelope(arg) && dependsOnTime(arg, now)) || isSetBack(now)) leaveMark();
      return ignore(name, opened.why);
    }
    if (isOnce('signal', name)) noteMessage(opened.seal);
    return next({ ...input, args: [...opened.args] });
  },
  async handleQuery(input, next) {
    const messages = contractOf(workflowInfo().workflowType);
    if (messages === undefined) return next(input);
    const shapes = argumentsOf(messages, 'queries', input.queryName);
    // A query changes nothing and its answer is encrypted, so one without arguments needs no envelope: the
    // Web UI asks many.
    const args =
      input.args.length === 0
        ? checked(shapes, [])
        : open('query', input.queryName, { args: input.args, shapes, now: taskTime() }).args;
    return next({ ...input, args: [...args] });
  },
};

const outbound: WorkflowOutboundCallsInterceptor = {
  scheduleActivity(input, next) {
    if (contractOf(workflowInfo().workflowType) === undefined) return next(input);
    return next({ ...input, args: sealMessage(purposeOf('activity', input.activityType), input.args) });
  },
  async startChildWorkflowExecution(input, next) {
    const { workflowType, options } = input;
    if (contractOf(workflowType) === undefined) return next(input);
    return next({
      ...input,
      options: {
        ...options,
        parentClosePolicy: outlivingPolicy(workflowType, options.parentClosePolicy),
        args: sealMessage(purposeOf('start', workflowType), options.args, sealOfChild()),
      },
    });
  },
  signalWorkflow(input, next) {
    const { target, signalName } = input;
    const workflowId =
      target.type === 'child' ? target.childWorkflowId : (target.workflowExecution.workflowId ?? '');
    if (signalName !== clusterEventSignalName && !isHeddleMessage(workflowId, 'signals', signalName))
      return next(input);
    return next({ ...input, args: sealMessage(purposeOf('signal', signalName), input.args, sealOfSignal()) });
  },
  continueAsNew(input, next) {
    const { workflowType } = input.options;
    if (contractOf(workflowType) === undefined) return next(input);
    return next({
      ...input,
      args: sealMessage(purposeOf('start', workflowType), input.args, sealOfNextRun()),
    });
  },
};

/**
 * Temporal's default is to terminate a child with its parent, which would leave machines behind
 * without a workflow.
 */
function outlivingPolicy(workflowType: string, policy: ParentClosePolicy | undefined): ParentClosePolicy {
  if (policy === undefined) return ParentClosePolicy.ABANDON;
  if (!policy.endsWith('TERMINATE')) return policy;
  throw ApplicationFailure.nonRetryable(
    `a workflow of type ${workflowType} must not be terminated with its parent, because nothing would delete its machines; ` +
      'omit parentClosePolicy, which means ABANDON, or use REQUEST_CANCEL, which cancels the operation under way',
    'Invalid',
  );
}

interface Received {
  readonly args: readonly unknown[];
  /** Undefined where the workflow has no such message. */
  readonly shapes: Arguments | undefined;
  /** Ms since the epoch. */
  readonly now: number;
}

type Opened = Extract<ReturnType<typeof openMessage>, { readonly ok: true }>;
type Refused = { readonly ok: false } & Partial<MessageRefusal> & Pick<MessageRefusal, 'why'>;

/** @throws ApplicationFailure that fails the workflow, if it must not start like this. */
function openStart(messages: Contract, { args, headers }: WorkflowExecuteInput): readonly unknown[] {
  requireOpenStart(keyOfMessage(headers));
  const { workflowType, startTime } = workflowInfo();
  const opened = open('start', workflowType, { args, shapes: messages.start, now: startTime.getTime() });
  const refusal = takeStart(opened.seal);
  if (refusal !== undefined) throw ApplicationFailure.nonRetryable(refusal.why, refusal.is);
  return opened.args;
}

let startRefusal: ApplicationFailure | undefined;

/** The client of an update that came with a refused start learns why. */
function refuseUpdates({ updates }: Contract, refusal: ApplicationFailure): void {
  startRefusal = refusal;
  const refuse = (): void => undefined;
  for (const name of Object.keys(updates)) setHandler(defineUpdate(name), refuse, { validator: refuse });
}

/** With the seal of an update that is taken once. */
function openUpdate(name: string, args: unknown[]): { readonly args: unknown[]; readonly seal?: Seal } {
  const messages = contractOf(workflowInfo().workflowType);
  if (messages === undefined) return { args };
  const shapes = argumentsOf(messages, 'updates', name);
  const opened = open('update', name, { args, shapes, now: taskTime() });
  if (isOnce('update', name)) return { args: [...opened.args], seal: opened.seal };
  const [isRepeated, query, ...rest] = opened.args as [boolean, string, ...unknown[]];
  return { args: [isRepeated, query, ...checked(argumentsOf(messages, 'queries', query), rest)] };
}

/** Reads change nothing, so they may be repeated; handlers of numbered signals look for themselves. */
function isOnce(kind: MessageKind, name: string): boolean {
  return kind === 'signal' ? !numberedSignals.includes(name) : kind === 'update' && name !== readUpdateName;
}

/**
 * @throws ApplicationFailure that ends the message, or a start the workflow, and never fails a workflow task.
 */
function open(kind: MessageKind, name: string, received: Received): Opened {
  const opened = tryOpen(kind, name, received);
  if (opened.ok) return opened;
  const { why, is = 'Invalid', answer = [] } = opened;
  throw ApplicationFailure.nonRetryable(why, is, ...answer);
}

function tryOpen(kind: MessageKind, name: string, { args, shapes, now }: Received): Opened | Refused {
  const purpose = purposeOf(kind, name);
  const opened = openMessage(purpose, args, now);
  if (!opened.ok) return opened;
  const problem = problemOf(shapes, opened.args);
  if (problem !== undefined) return { ok: false, why: problem };
  const refusal = isOnce(kind, name) ? refusalOfMessage(purpose, opened.seal, now) : undefined;
  return refusal === undefined ? opened : { ok: false, ...refusal };
}

function checked(shapes: Arguments | undefined, args: readonly unknown[]): readonly unknown[] {
  const problem = problemOf(shapes, args);
  if (problem !== undefined) throw ApplicationFailure.nonRetryable(problem, 'Invalid');
  return args;
}

function problemOf(shapes: Arguments | undefined, args: readonly unknown[]): string | undefined {
  return shapes === undefined ? 'this workflow has no such message' : checkArguments(shapes, args);
}

/** Whether the message may be valid at another time. */
function dependsOnTime({ until, at = 0 }: Seal, now: number): boolean {
  return until !== undefined || at > now;
}
