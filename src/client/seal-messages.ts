import { randomUUID } from 'node:crypto';
import type {
  Client,
  ScheduleClientInterceptor,
  WorkflowClientInterceptor,
  WorkflowStartUpdateOutput,
  WorkflowStartUpdateWithStartOutput,
} from '@temporalio/client';
import { isEnvelope, purposeOf, sealMessage } from '../model/messages/envelope.js';
import { readUpdateName } from '../model/messages/read.js';
import { sealOfSchedule, type Seal } from '../model/messages/seal.js';
import { checkArguments, isHeddleMessage, contractOf } from '../model/messages/table.js';
import { repeatedType, sealAgainType } from '../model/messages/taken.js';
import type { Recipients } from './check-keys.js';
import { HeddleError } from './errors.js';

/** What sealing needs of the server. */
export interface Sealing {
  readonly recipients: Recipients;
  /** The time by the server's clock, in ms since the epoch. */
  readonly now: () => Promise<number>;
  /** Compares the clocks again for the next `now`. */
  readonly forgetClock?: () => void;
}

/** How often an update is sealed: workflows refuse what was sealed for an earlier one of their name. */
const mostSeals = 4;

/**
 * Seals messages to Heddle's workflows: for their purpose, once, and for the workflow that runs now. Messages
 * to other workflows pass unchanged. What comes after it repeats the message as it is, so that it is taken
 * once.
 */
export function sealMessages({ recipients, now, forgetClock }: Sealing): WorkflowClientInterceptor {
  /** The seal of a message to the workflow that runs. */
  const sealTo = async (workflowId: string): Promise<Seal> => {
    const [at, recipient] = await Promise.all([now(), recipients.find(workflowId)]);
    return newSeal(at, typeof recipient === 'object' ? recipient.firstRun : undefined);
  };
  /** Reads may be repeated, so they need no seal, but the keys of the workflow. */
  const requireKeysOf = async (workflowId: string): Promise<void> => {
    await recipients.find(workflowId);
  };
  /** The seals of a start and of the message that comes with it. */
  const sealBoth = async (workflowId: string): Promise<{ readonly start: Seal; readonly message: Seal }> => {
    const [at, recipient] = await Promise.all([now(), recipients.find(workflowId)]);
    const start = newSeal(at);
    // If it is unreadable whether a workflow runs, the message names no recipient, and its time decides.
    const to =
      typeof recipient === 'object' ? recipient.firstRun : recipient === 'absent' ? start.id : undefined;
    return { start, message: newSeal(at, to) };
  };
  const forgetServer = (workflowId: string): void => {
    recipients.forget(workflowId);
    forgetClock?.();
  };
  const interceptor: WorkflowClientInterceptor = {
    async startWithDetails({ options, ...input }, next) {
      const { start } = await sealBoth(options.workflowId);
      return next({
        ...input,
        options: { ...options, args: sealStart(input.workflowType, options.args, start) },
      });
    },
    async signal(input, next) {
      const workflowId = input.workflowExecution.workflowId ?? '';
      // No response would show that another workflow has taken the place of this one.
      recipients.forget(workflowId);
      const own = await sealTo(workflowId);
      return next({
        ...input,
        args: seal('signal', input.signalName, { args: input.args, workflowId, seal: own }),
      });
    },
    async signalWithStart({ options, ...input }, next) {
      const { workflowId } = options;
      recipients.forget(workflowId);
      const { start, message } = await sealBoth(workflowId);
      return next({
        ...input,
        options: { ...options, args: sealStart(input.workflowType, options.args, start) },
        signalArgs: seal('signal', input.signalName, { args: input.signalArgs, workflowId, seal: message }),
      });
    },
    async startUpdate(input, next) {
      const workflowId = input.workflowExecution.workflowId ?? '';
      const { updateName, args } = input;
      return anew(
        () => forgetServer(workflowId),
        async () => {
          if (updateName === readUpdateName) await requireKeysOf(workflowId);
          const own = updateName === readUpdateName ? {} : await sealTo(workflowId);
          return next({ ...input, args: seal('update', updateName, { args, workflowId, seal: own }) });
        },
      );
    },
    async startUpdateWithStart({ workflowStartOptions: options, ...input }, next) {
      const { workflowId } = options;
      return anew(
        () => forgetServer(workflowId),
        async () => {
          const { start, message } = await sealBoth(workflowId);
          return next({
            ...input,
            workflowStartOptions: { ...options, args: sealStart(input.workflowType, options.args, start) },
            updateArgs: seal('update', input.updateName, {
              args: input.updateArgs,
              workflowId,
              seal: message,
            }),
          });
        },
      );
    },
    // A query without arguments needs no envelope: it changes nothing, and its answer is encrypted.
    async query(input, next) {
      const workflowId = input.workflowExecution.workflowId ?? '';
      const { args } = input;
      await requireKeysOf(workflowId);
      return next(
        args.length === 0
          ? input
          : { ...input, args: seal('query', input.queryType, { args, workflowId, seal: {} }) },
      );
    },
  };
  sealing.add(interceptor);
  return interceptor;
}

/**
 * Seals the start of a repeated request anew: the workflow that the first one started may have ended by now,
 * and its start is valid once. The message stays the same, so that it is taken once. Comes after what repeats
 * requests.
 */
export function renewStarts({ now }: Pick<Sealing, 'now'>): WorkflowClientInterceptor {
  const sent = new WeakSet<object>();
  return {
    async startUpdateWithStart({ workflowStartOptions: options, ...input }, next) {
      const [start] = options.args as readonly unknown[];
      if (!isEnvelope(start) || start.id === undefined)
        return next({ ...input, workflowStartOptions: options });
      const isRepeated = sent.has(start);
      sent.add(start);
      const args = isRepeated ? [{ ...start, ...newSeal(await now()) }] : options.args;
      return next({ ...input, workflowStartOptions: { ...options, args } });
    },
  };
}

function newSeal(at: number, to?: string): Seal {
  return { id: randomUUID(), at, ...(to === undefined ? {} : { to }) };
}

/** The interceptors that seal, and no others. */
const sealing = new WeakSet<WorkflowClientInterceptor>();

type UpdateOutput = WorkflowStartUpdateOutput | WorkflowStartUpdateWithStartOutput;
type Failure = NonNullable<WorkflowStartUpdateOutput['outcome']>['failure'];

/** Sends an update again while the workflow says that it was sealed for another one, or at another time. */
async function anew<Output extends UpdateOutput>(
  forget: () => void,
  send: () => Promise<Output>,
): Promise<Output> {
  for (let times = 1; ; times += 1) {
    const output = await send();
    const type = failureOf(output)?.applicationFailureInfo?.type;
    if (type === repeatedType) return withAnswer(output);
    if (times === mostSeals || type !== sealAgainType) return output;
    forget();
  }
}

function failureOf(output: UpdateOutput): Failure {
  return ('workflowExecution' in output ? output.updateOutcome : output.outcome)?.failure;
}

/** An update repeated after a broken connection: the workflow may have stored the first answer. */
function withAnswer<Output extends UpdateOutput>(output: Output): Output {
  const payloads = failureOf(output)?.applicationFailureInfo?.details?.payloads ?? [];
  if (payloads.length === 0) return output;
  const outcome = { success: { payloads } };
  return { ...output, ...('workflowExecution' in output ? { updateOutcome: outcome } : { outcome }) };
}

/** Whether a client has Heddle's plugin, without which it can neither send messages nor read answers. */
export function seals({ options }: Client): boolean {
  const { workflow = [] } = options.interceptors ?? {};
  if (Array.isArray(workflow)) return workflow.some((one) => sealing.has(one));
  // The deprecated form creates them per workflow.
  return (workflow.calls ?? []).some((create) => sealing.has(create({ workflowId: '' })));
}

/**
 * The same for schedules that are created; the SDK has no interceptor for `update`, so `schedules.ts`
 * seals by itself.
 */
export const sealSchedules: ScheduleClientInterceptor = {
  create: (input, next) => {
    const { action } = input.options;
    const args = sealStart(action.workflowType, action.args, sealOfSchedule);
    return next({ ...input, options: { ...input.options, action: { ...action, args } } });
  },
};

/**
 * The arguments of a start, sealed if the workflow type is one of Heddle's.
 * @throws HeddleError Invalid for arguments with which the workflow would fail at once.
 */
function sealStart(workflowType: string, args: unknown[], own: Seal): unknown[] {
  const messages = contractOf(workflowType);
  if (messages === undefined || isEnvelope(args[0])) return args;
  const sealed = sealMessage(purposeOf('start', workflowType), args, own);
  const problem = checkArguments(messages.start, sealed[0].args.map(asSent));
  if (problem !== undefined)
    throw new HeddleError(
      'Invalid',
      `nothing was sent: the start of a ${workflowType} is invalid: ${problem}`,
    );
  return sealed;
}

/** An argument as the workflow receives it. */
function asSent(value: unknown): unknown {
  return value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as unknown);
}

interface Sent {
  readonly args: unknown[];
  readonly workflowId: string;
  readonly seal: Seal;
}

const tables = { signal: 'signals', update: 'updates', query: 'queries' } as const;

function seal(kind: keyof typeof tables, name: string, { args, workflowId, seal: own }: Sent): unknown[] {
  if (!isHeddleMessage(workflowId, tables[kind], name) || isEnvelope(args[0])) return args;
  return sealMessage(purposeOf(kind, name), args, own);
}
