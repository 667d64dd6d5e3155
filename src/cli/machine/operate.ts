import type { MachineRequestIntent } from '../../client/machine.js';
import { isLabelKey, labelRule, parseLabel, type Labels } from '../../model/cluster/labels.js';
import type { BootDevice } from '../../model/machine/boot.js';
import type { DriftKind, MachineIntent } from '../../model/machine/state.js';
import type { ImageRef } from '../../model/machine/image.js';
import { parseDuration } from '../../model/duration.js';
import { readPublicKeyFile } from '../access-text.js';
import type { ServerOptions, WaitOptions } from '../configuration.js';
import { CliError, exitCodes } from '../errors.js';
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

type PowerVerb = Extract<MachineIntent, { readonly kind: 'power' }>['verb'];

const operate = verb(
  async (session: Session, name: string, intent: MachineRequestIntent, options: MachineOptions) => {
    const { operation } = await session.client.machines.operate(name, intent);
    return finish(session, name, operation, options);
  },
  outcomeShown,
);

/** Declares a verb that starts an operation on a machine, and waits for its end. */
function operation<Args extends unknown[]>(
  intentOf: (...wordsAndOptions: Args) => MachineRequestIntent,
): (name: string, ...wordsAndOptions: Args) => Promise<number> {
  return async (name, ...args) => operate(name, intentOf(...args), args.at(-1) as MachineOptions);
}

const operateMatching = verb(
  async (session: Session, pattern: string, intent: MachineRequestIntent, options: PatternOptions) =>
    operateAll(session, await selectMachines(session, pattern, options), intent, options),
  batchShown,
);

type PatternOptions = MachineOptions & BatchOptions;

/** Declares a verb that takes a machine, or a pattern of machines. */
function patternOperation<Args extends unknown[]>(
  intentOf: (...wordsAndOptions: Args) => MachineRequestIntent,
): (name: string, ...wordsAndOptions: Args) => Promise<number> {
  const one = operation(intentOf);
  return async (name, ...args) => {
    const options = args.at(-1) as PatternOptions;
    return selectsSeveral(name, options)
      ? operateMatching(name, intentOf(...args), options)
      : one(name, ...args);
  };
}

function withinMs({ within }: LimitOptions): number | undefined {
  const ms = within === undefined ? undefined : parseDuration(within);
  if (within !== undefined && (ms === undefined || ms < 1_000))
    throw new CliError(
      'Usage',
      `--within ${within} is not a valid duration; use one from 1 s to 30 days, such as 45m`,
    );
  return ms;
}

export const power = patternOperation((verb: PowerVerb, _options: MachineOptions) => ({
  kind: 'power',
  verb,
}));
export const boot = patternOperation(({ once }: PatternOptions & { readonly once: BootDevice }) => ({
  kind: 'boot',
  device: once,
}));
export const unload = patternOperation((_options: MachineOptions) => ({ kind: 'unload' }));
export const release = patternOperation((_options: MachineOptions) => ({ kind: 'release' }));
export const retry = patternOperation((_options: MachineOptions) => ({ kind: 'retry' }));
type QuarantineOptions = PatternOptions & { readonly comment?: string; readonly end?: true };

/** Quarantines a machine, or ends that. */
export const quarantine = patternOperation(({ comment, end }: QuarantineOptions) => {
  if (end === true && comment === undefined) return { kind: 'end quarantine' };
  if (end === undefined && comment !== undefined && comment.trim() !== '')
    return { kind: 'quarantine', comment };
  throw new CliError('Usage', 'give the reason with --comment, or --end', {
    next: 'heddle machine quarantine --help',
  });
});
export const restore = patternOperation((_options: MachineOptions) => ({ kind: 'restore' }));
export const correct = patternOperation((drift: readonly DriftKind[], _options: MachineOptions) => ({
  kind: 'correct',
  drift,
}));
export const group = patternOperation((groups: readonly string[], _options: MachineOptions) => ({
  kind: 'group',
  groups,
}));
export const label = patternOperation((words: readonly string[], _options: MachineOptions) => ({
  kind: 'label',
  ...readLabels(words),
}));

/** @throws CliError Usage for a word that is neither KEY=VALUE nor KEY-. */
function readLabels(words: readonly string[]): {
  readonly labels: Labels;
  readonly remove: readonly string[];
} {
  const labels: [string, string][] = [];
  const remove: string[] = [];
  for (const word of words) {
    const label = parseLabel(word);
    const removed = word.endsWith('-') && isLabelKey(word.slice(0, -1)) ? word.slice(0, -1) : undefined;
    if (label !== undefined) labels.push([...label]);
    else if (removed !== undefined) remove.push(removed);
    else throw new CliError('Usage', `"${word}" is neither KEY=VALUE nor KEY-. A label is ${labelRule}`);
  }
  return { labels: Object.fromEntries(labels), remove };
}

export const reserve = patternOperation(({ user }: MachineOptions & { readonly user: string }) => ({
  kind: 'reserve',
  user,
}));
export const maintain = patternOperation(({ reason }: MachineOptions & { readonly reason: string }) => ({
  kind: 'maintain',
  reason,
}));

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

export const status = patternOperation(({ image }: MachineOptions & { readonly image?: ImageRef }) => ({
  kind: 'status',
  image,
}));

interface LimitOptions extends MachineOptions {
  /** Longest time over all, as a duration. */
  readonly within?: string;
}

export const load = patternOperation(
  (image: ImageRef, options: LimitOptions & { readonly force?: true; readonly only?: 'post-load' }) => {
    const { force, only } = options;
    if (force === true && only !== undefined)
      throw new CliError(
        'Usage',
        `--force writes the image, and --only ${only} writes nothing; give one of them`,
      );
    return { kind: 'load', image, force, only, withinMs: withinMs(options) };
  },
);

export const capture = operation((image: ImageRef, options: LimitOptions & { readonly prove: boolean }) => ({
  kind: 'capture',
  image,
  prove: options.prove,
  withinMs: withinMs(options),
}));

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
