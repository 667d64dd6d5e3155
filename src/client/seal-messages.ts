import type { Client, ScheduleClientInterceptor, WorkflowClientInterceptor } from '@temporalio/client';
import { isEnvelope, purposeOf, sealMessage } from '../model/messages/envelope.js';
import { isHeddleMessage, messagesOf } from '../model/messages/table.js';

/** Seals messages to Heddle's workflows for their purpose; messages to other workflows pass unchanged. */
export const sealMessages: WorkflowClientInterceptor = {
  startWithDetails: (input, next) =>
    next({
      ...input,
      options: { ...input.options, args: sealStart(input.workflowType, input.options.args) },
    }),
  signal: (input, next) => next({ ...input, args: seal('signal', input.signalName, input) }),
  signalWithStart: (input, next) =>
    next({
      ...input,
      options: { ...input.options, args: sealStart(input.workflowType, input.options.args) },
      signalArgs: seal('signal', input.signalName, {
        args: input.signalArgs,
        workflowExecution: input.options,
      }),
    }),
  startUpdate: (input, next) => next({ ...input, args: seal('update', input.updateName, input) }),
  startUpdateWithStart: (input, next) =>
    next({
      ...input,
      workflowStartOptions: {
        ...input.workflowStartOptions,
        args: sealStart(input.workflowType, input.workflowStartOptions.args),
      },
      updateArgs: seal('update', input.updateName, {
        args: input.updateArgs,
        workflowExecution: input.workflowStartOptions,
      }),
    }),
  // A query without arguments needs no envelope: it changes nothing, and its answer is encrypted.
  query: (input, next) =>
    next(input.args.length === 0 ? input : { ...input, args: seal('query', input.queryType, input) }),
};

/** Whether a client has Heddle's plugin, without which it can neither send messages nor read answers. */
export function seals({ options }: Client): boolean {
  const { workflow = [] } = options.interceptors ?? {};
  if (Array.isArray(workflow)) return workflow.includes(sealMessages);
  // The deprecated form creates them per workflow.
  return (workflow.calls ?? []).some((create) => create({ workflowId: '' }) === sealMessages);
}

/**
 * The same for schedules that are created; the SDK has no interceptor for `update`, so `schedules.ts`
 * seals by itself.
 */
export const sealSchedules: ScheduleClientInterceptor = {
  create: (input, next) => {
    const { action } = input.options;
    return next({
      ...input,
      options: { ...input.options, action: { ...action, args: sealStart(action.workflowType, action.args) } },
    });
  },
};

/** The arguments of a start, sealed if the workflow type is one of Heddle's. */
function sealStart(workflowType: string, args: unknown[]): unknown[] {
  return messagesOf(workflowType) === undefined || isEnvelope(args[0])
    ? args
    : sealMessage(purposeOf('start', workflowType), args);
}

interface Sent {
  readonly args: unknown[];
  readonly workflowExecution: { readonly workflowId?: string | null };
}

const tables = { signal: 'signals', update: 'updates', query: 'queries' } as const;

function seal(
  kind: keyof typeof tables,
  name: string,
  { args, workflowExecution: { workflowId } }: Sent,
): unknown[] {
  if (!isHeddleMessage(workflowId ?? '', tables[kind], name) || isEnvelope(args[0])) return args;
  return sealMessage(purposeOf(kind, name), args);
}
