import pLimit from 'p-limit';
import type { MachineView } from '../../schema/output/machine.js';
import type { MachineRequestIntent } from '../../model/machine/intents.js';
import { describeIntent } from '../../model/machine/decide.js';
import type { Labels } from '../../model/cluster/labels.js';
import { filteredOut, isFree, parseGroupCount } from '../../model/machine/selection.js';
import type { Verdict } from '../../model/machine/node-status.js';
import type { MachineOperation } from '../../model/machine/state.js';
import type { WaitOptions } from '../configuration.js';
import { CliError, exitCodes } from '../errors.js';
import { messageOf } from '../report-error.js';
import type { Session } from '../session.js';
import type { Shown } from '../verb.js';
import { untilEnd } from '../waiting.js';
import { formatState } from './machine-text.js';

/** Machines on which an operation on a pattern runs concurrently. */
const defaultAtOnce = 5;

/** Which of the machines named by a command it works on. */
export interface SelectOptions {
  readonly group?: string;
  readonly label?: Labels;
}

export interface BatchOptions extends SelectOptions, WaitOptions {
  readonly atOnce?: number;
}

export interface MachineResult {
  readonly machine: string;
  readonly result: 'accepted' | 'refused' | 'unchanged' | Exclude<MachineOperation['state'], 'running'>;
  /** State of the machine at the end of the operation. */
  readonly state?: string;
  readonly power?: 'on' | 'off' | 'unknown';
  /** Of its image, from `status`. */
  readonly status?: Verdict;
  readonly why?: string;
}

interface Selection {
  readonly names: readonly string[];
  /** Skips machines that are no longer free. */
  readonly onlyFree: boolean;
  /** Machines that do not respond and might belong to the selection. */
  readonly silent: readonly string[];
}

/** Whether a command works on the machines that are selected, and not on one that is named. */
export function selectsSeveral(name: string, { group, label }: SelectOptions): boolean {
  return name.includes('*') || name.includes('@') || group !== undefined || label !== undefined;
}

/**
 * The machines of a pattern, in which `*` stands for any text, or `GROUP@N`: so many free
 * machines of a group; options leave out others. @throws CliError if there are none, or too few.
 */
export async function selectMachines(
  { client }: Session,
  selector: string,
  { group, label: labels }: SelectOptions,
): Promise<Selection> {
  const counted = parseGroupCount(selector);
  if (counted === undefined && !/^[a-z0-9*-]+$/.test(selector))
    throw new CliError(
      'Usage',
      `"${selector}" is neither a pattern of machine names (lower-case letters, digits, hyphens and *) nor GROUP@N`,
    );
  const { machines, silent } = await client.machines.list();
  const kept = machines.filter((machine) => filteredOut(machine, { group, labels }) === undefined);
  if (counted !== undefined) {
    const ofGroup = kept.filter(({ groups }) => groups.includes(counted.group));
    const free = inOrder(ofGroup.filter(isFree).map(({ name }) => name));
    if (free.length >= counted.count)
      return { names: free.slice(0, counted.count), onlyFree: true, silent: [] };
    throw new CliError(
      'Refused',
      `${free.length} of ${ofGroup.length} machines of group ${counted.group} are free, but ${counted.count} are requested${silentText(silent)}`,
      { next: `heddle machine list --group ${counted.group}` },
    );
  }
  const matches = new RegExp(`^${selector.replaceAll(/\*+/g, '.*')}$`);
  const isFiltered = group !== undefined || labels !== undefined;
  const unknown = silent.filter((name) => matches.test(name));
  const names = kept.map(({ name }) => name).filter((name) => matches.test(name));
  if (names.length + unknown.length === 0)
    throw new CliError(
      'NotFound',
      `no machine matches ${selector}${isFiltered ? ', --group and --label' : ''}`,
      { next: 'heddle machine list' },
    );
  return isFiltered
    ? { names: inOrder(names), onlyFree: false, silent: unknown }
    : { names: inOrder([...names, ...unknown]), onlyFree: false, silent: [] };
}

/** A machine that does not answer does not say whether it is in a group. */
function silentText(silent: readonly string[]): string {
  if (silent.length === 0) return '';
  const shown = inOrder(silent).slice(0, mostShown);
  const more = silent.length - shown.length;
  return `; the groups of machines that do not answer are unknown: ${shown.join(', ')}${more === 0 ? '' : ` and ${more} more`}`;
}

/** Machines that do not answer, of which an error shows the names. */
const mostShown = 10;

function inOrder(names: readonly string[]): readonly string[] {
  return names.toSorted((one, other) => one.localeCompare(other, 'en', { numeric: true }));
}

/** Carries out an operation on several machines, a few at a time; one that fails does not stop the others. */
export async function operateAll(
  session: Session,
  { names, onlyFree, silent }: Selection,
  intent: MachineRequestIntent,
  options: BatchOptions,
): Promise<{ readonly results: readonly MachineResult[] }> {
  const { machines } = session.client;
  const { results } = await runBatch(session, names, options, {
    what: describeIntent(intent),
    begin: async (name) => {
      if (onlyFree && !isFree(await machines.show(name)))
        return { machine: name, result: 'refused', why: 'it is no longer free' };
      return (await machines.operate(name, intent)).operation;
    },
  });
  return { results: [...results, ...silent.map(refuseSilent)] };
}

/** Cancels the operations of several machines; machines without one are unchanged. */
export async function cancelAll(
  session: Session,
  { names, silent }: Selection,
  options: BatchOptions,
): Promise<{ readonly results: readonly MachineResult[] }> {
  const { machines } = session.client;
  const { results } = await runBatch(session, names, options, {
    what: 'cancellation',
    begin: async (name) =>
      (await machines.show(name)).operation === undefined
        ? { machine: name, result: 'unchanged', why: 'it has no running operation' }
        : (await machines.cancel(name)).operation,
  });
  return { results: [...results, ...silent.map(refuseSilent)] };
}

function refuseSilent(machine: string): MachineResult {
  const why = 'it does not respond, so its groups and labels are unknown';
  return { machine, result: 'refused', why };
}

interface BatchWork {
  readonly what: string;
  /** Starts the operation and returns its id; the result, if there is nothing to wait for. */
  readonly begin: (name: string) => Promise<string | MachineResult>;
}

/** Starts an operation on each machine, a few at a time; one that fails does not stop the others. */
export async function runBatch(
  { client }: Session,
  names: readonly string[],
  { wait, timeout, atOnce = defaultAtOnce }: BatchOptions,
  { what, begin }: BatchWork,
): Promise<{ readonly results: readonly MachineResult[] }> {
  const limit = pLimit(atOnce);
  const results = await untilEnd({
    what: `every started operation (${what})`,
    next: 'heddle machine list',
    timeout,
    end: (signal) =>
      Promise.all(
        names.map((name) =>
          limit(async (): Promise<MachineResult> => {
            signal.throwIfAborted();
            const begun = await begin(name).catch((error: unknown) => ({
              machine: name,
              result: 'refused' as const,
              why: messageOf(error),
            }));
            if (typeof begun !== 'string') return begun;
            if (!wait) return { machine: name, result: 'accepted' };
            try {
              const { machine, operation } = await client.machines.waitFor(name, begun, { signal });
              return resultOf(machine, operation);
            } catch (error) {
              signal.throwIfAborted();
              return { machine: name, result: 'accepted', why: messageOf(error) };
            }
          }),
        ),
      ),
  });
  return { results };
}

export const batchShown = {
  table: {
    head: ['MACHINE', 'RESULT', 'STATE', 'POWER', 'WHY'],
    rows: ({ results }) =>
      results.map(({ machine, result, state = '-', power = '-', why = '-' }) => [
        machine,
        result,
        state,
        power,
        why,
      ]),
  },
  exitCode: ({ results }) => (results.every(isDone) ? exitCodes.ok : exitCodes.failed),
} satisfies Shown<[], { readonly results: readonly MachineResult[] }>;

function resultOf(machine: MachineView, { state, result, failure }: MachineOperation): MachineResult {
  const { power: seen, status } = result ?? {};
  return {
    machine: machine.name,
    result: state === 'running' ? 'accepted' : state,
    state: machine.removed === true ? 'removed' : formatState(machine),
    power: seen?.power ?? machine.power,
    status: status?.status,
    why: failure?.message ?? (status === undefined ? seen?.why : `${status.status}: ${status.why}`),
  };
}

/** What was accepted and has a `why` could not be waited for. */
function isDone({ result, power, status, why }: MachineResult): boolean {
  if (result === 'unchanged') return true;
  const isKnown = power !== 'unknown' && status !== 'UNKNOWN';
  return (result === 'accepted' && why === undefined) || (result === 'done' && isKnown);
}
