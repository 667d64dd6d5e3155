import type { MachineRequestIntent } from '../../model/machine/intents.js';
import { readPublicKeyFile } from '../access-text.js';
import type { ServerOptions, WaitOptions } from '../configuration.js';
import { exitCodes } from '../errors.js';
import type { Session } from '../session.js';
import { confirm, type Confirmation } from '../terminal.js';
import { verb } from '../verb.js';
import {
  batchShown,
  cancelAll,
  operateAll,
  selectMachines,
  selectsSeveral,
  type BatchOptions,
} from './batch.js';
import { finish, hasEndedAs, outcomeShown } from './follow.js';

export interface MachineOptions extends ServerOptions, WaitOptions {}

const operate = verb(
  async (session: Session, name: string, intent: MachineRequestIntent, options: MachineOptions) => {
    const { operation } = await session.client.machines.operate(name, intent);
    return finish(session, name, operation, options);
  },
  outcomeShown,
);

/** Of the words and options after the machine. */
type IntentOf = (...wordsAndOptions: never[]) => MachineRequestIntent;

/** A verb that starts an operation on a machine, and waits for its end. */
export function operation(
  intentOf: IntentOf,
): (name: string, ...wordsAndOptions: never[]) => Promise<number> {
  return async (name, ...args) => operate(name, intentOf(...args), args.at(-1) as unknown as MachineOptions);
}

const operateMatching = verb(
  async (session: Session, pattern: string, intent: MachineRequestIntent, options: PatternOptions) =>
    operateAll(session, await selectMachines(session, pattern, options), intent, options),
  batchShown,
);

type PatternOptions = MachineOptions & BatchOptions;

/** The same for a machine or a pattern of machines. */
export function patternOperation(
  intentOf: IntentOf,
): (name: string, ...wordsAndOptions: never[]) => Promise<number> {
  const one = operation(intentOf);
  return async (name, ...args) => {
    const options = args.at(-1) as unknown as PatternOptions;
    return selectsSeveral(name, options)
      ? operateMatching(name, intentOf(...args), options)
      : one(name, ...args);
  };
}

/** Ends the running operation of a machine, or of those of a pattern that have one, and waits for its end. */
export async function cancel(name: string, options: PatternOptions): Promise<number> {
  return selectsSeveral(name, options) ? cancelMatching(name, options) : cancelOne(name, options);
}

const cancelMatching = verb(
  async (session: Session, pattern: string, options: PatternOptions) =>
    cancelAll(session, await selectMachines(session, pattern, options), options),
  {
    ...batchShown,
    exitCode: ({ results }) =>
      results.every(({ result }) => result !== 'refused' && result !== 'failed')
        ? exitCodes.ok
        : exitCodes.failed,
  },
);

const cancelOne = verb(
  async (session: Session, name: string, options: MachineOptions) => {
    const { operation } = await session.client.machines.cancel(name);
    return finish(session, name, operation, options);
  },
  {
    ...outcomeShown,
    exitCode: (outcome) => (hasEndedAs(outcome, ['done', 'cancelled']) ? exitCodes.ok : exitCodes.failed),
  },
);

type RemoveOptions = PatternOptions & Confirmation & { readonly force?: true };

/** Unregisters a machine, which its provider deletes or takes back, after confirmation. */
export async function remove(name: string, options: RemoveOptions): Promise<number> {
  return selectsSeveral(name, options) ? removeMatching(name, options) : removeOne(name, options);
}

const removeMatching = verb(async (session: Session, pattern: string, options: RemoveOptions) => {
  const selection = await selectMachines(session, pattern, options);
  const { names } = selection;
  const what = `Their providers delete them with their disks, or take them back: ${names.join(', ')}`;
  await confirm(`Remove ${names.length} machines? ${what}`, options);
  return operateAll(session, selection, { kind: 'remove', force: options.force }, options);
}, batchShown);

const removeOne = verb(async (session: Session, name: string, options: RemoveOptions) => {
  const { machines } = session.client;
  const { provider } = await machines.show(name);
  await confirm(`Remove machine ${name}? ${provider} deletes it with its disk, or takes it back.`, options);
  const { operation: id } = await machines.operate(name, { kind: 'remove', force: options.force });
  return finish(session, name, id, options);
}, outcomeShown);

interface LogInOptions extends MachineOptions {
  readonly user: string;
  /** File of a public key. */
  readonly key?: string;
}

/** Creates an account for a user, and shows how to log in. */
export const logIn = verb(async (session: Session, name: string, options: LogInOptions) => {
  const { user, key } = options;
  const publicKey = key === undefined ? undefined : readPublicKeyFile(key);
  const { machines } = session.client;
  const { operation: id } = await machines.operate(name, { kind: 'log in', user, publicKey });
  const outcome = await finish(session, name, id, options);
  const hasAccess = 'machine' in outcome && outcome.operation.state === 'done';
  return hasAccess ? { ...outcome, access: await machines.access(name), keyFile: key } : outcome;
}, outcomeShown);
