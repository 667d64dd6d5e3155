import { wordsOf } from '../../model/machine/decide.js';
import { readingsThatCount } from '../../model/machine/drift.js';
import { formatImageRef } from '../../model/machine/image.js';
import { parseNodeName } from '../../model/machine/node-machine.js';
import type { MachineOperation, MachineView } from '../../model/machine/state.js';
import type { NodeStatusReport } from '../../model/machine/node-status.js';
import { cleanLine } from '../clean-text.js';
import type { Output } from '../output.js';
import { formatAge, formatDuration, formatMoment } from '../time-text.js';

/** How an operation ended, what it found, and what to type next. */
export function printEnd(output: Output, machine: MachineView, operation: MachineOperation): void {
  const { intent, state, result, failure, notes, startedAt, endedAt = startedAt } = operation;
  const took = formatDuration(Date.parse(endedAt) - Date.parse(startedAt));
  const words = cleanLine(`${machine.name}: ${wordsOf(intent)}`);
  if (state === 'done') output.line(`${words} done in ${took}${didWords(operation)}`);
  else
    output.line(
      `${words} ${state === 'cancelled' ? 'cancelled' : operation.answer === 'unknown' ? 'ended, and nobody can tell how' : 'failed'} after ${took}`,
      'red',
    );
  if (failure !== undefined) output.line(`  ${failure.message}`);
  for (const note of notes) output.line(`  ${note}`);
  if (result?.power !== undefined)
    output.line(
      `power: ${result.power.power}${result.power.why === undefined ? '' : `, ${result.power.why}`}`,
    );
  if (result?.status !== undefined && (intent.kind === 'status' || state !== 'done'))
    printStatus(output, result.status);
  if (result?.sizeMb !== undefined && result.image !== undefined)
    output.line(`image ${formatImageRef(result.image)}: ${result.sizeMb} MB`);
  const node = parseNodeName(machine.name);
  if (node !== undefined) {
    // How it stands with a node, its cluster or pool says.
    if (state !== 'done')
      output.line(
        `next: ${node.of === 'cluster' ? `heddle status ${node.name}` : `heddle pool nodes ${node.name}`}`,
      );
    return;
  }
  output.line(`machine ${machine.name} is ${standingWords(machine)}`);
  if (state !== 'done') output.line(`next: ${nextStep(machine, operation)}`);
}

export function printStatus(output: Output, report: NodeStatusReport): void {
  const { status, why, evidence } = report;
  const shown = (value: unknown): string =>
    value === null || value === undefined ? '?' : typeof value === 'string' ? value : JSON.stringify(value);
  output.raw(`status: ${output.style('bold', status)}, ${cleanLine(why)}`);
  const facts = ['ping', 'ssh', 'rpower', 'nodeset', 'nodetype', 'currentimage'] as const;
  output.line(`  ${facts.map((fact) => `${fact} ${shown(report[fact])}`).join(', ')}`);
  const { revision, wanted, tainted, taintReasons, postLoad, notes } = evidence;
  const reasons = taintReasons.length === 0 ? '' : ` (${taintReasons.join(', ')})`;
  output.line(
    `  revision ${shown(revision)}, wanted ${shown(wanted)}, tainted ${shown(tainted)}${reasons}, post-load ${shown(postLoad)}`,
  );
  for (const note of notes) output.line(`  ${note}`);
}

/** A machine for people. */
export function printMachine(output: Output, machine: MachineView, now: number): void {
  const {
    name,
    provider,
    type = '?',
    site = '?',
    system,
    image,
    half,
    user,
    holder,
    address = '-',
    operation,
    history,
    drift,
  } = machine;
  output.line(`machine ${name}: ${standingWords(machine)}`);
  output.line(
    `  ${type} (provider ${provider}), site ${site}, system ${system ?? 'none'}, address ${address}${user === undefined ? '' : `, user ${user}`}`,
  );
  output.line(
    `  image ${image === undefined ? 'not known' : `${formatImageRef(image)} since ${formatMoment(image.since)}`}${half === undefined ? '' : `; half of ${formatImageRef(half)} on its disk`}`,
  );
  if (holder !== undefined)
    output.line(
      `  reserved for ${holder.user} until ${formatMoment(holder.until)}, reservation ${holder.reservation}`,
    );
  if (operation !== undefined) {
    const step =
      operation.step === undefined
        ? ''
        : `, ${operation.step.number}/${operation.step.of} ${operation.step.step}, about ${formatDuration(operation.step.leftMs)} left`;
    output.line(`  now: ${wordsOf(operation.intent)} by ${operation.by}${step}`);
  }
  for (const { kind, expected, found, since, seen, tries } of drift) {
    const said = seen < readingsThatCount ? 'seen once' : `since ${formatMoment(since)}`;
    const what =
      kind === 'gone'
        ? 'it is gone, its provider has no such machine'
        : `${kind} is ${found}, not ${expected}`;
    output.line(
      `  ${`drift: ${what}, ${said}${tries === 0 ? '' : `, corrected ${tries} ${tries === 1 ? 'time' : 'times'}`}`}`,
    );
  }
  for (const done of history.slice(0, 5)) {
    const ended = done.endedAt === undefined ? '' : ` ${formatAge(done.endedAt, now)} ago`;
    output.line(
      `  ${done.id}: ${wordsOf(done.intent)} by ${done.by}, ${done.state}${ended}${done.failure === undefined ? '' : `: ${done.failure.message}`}`,
    );
  }
}

function nextStep(machine: MachineView, { intent }: MachineOperation): string {
  if (isNoMachine(machine)) return 'heddle provider list';
  return cleanLine(`heddle machine ${intent.kind === 'register' ? 'remove' : 'status'} ${machine.name}`);
}

/** Of one that is gone, or never was, its state says nothing. */
function standingWords(machine: MachineView): string {
  if (machine.removed === true) return 'no longer registered';
  if (isNoMachine(machine)) return 'not registered';
  return `${machine.state === 'maintenance' ? 'in maintenance' : machine.state}${machine.why === undefined ? '' : `: ${machine.why}`}`;
}

/** Its registration ended before it was known what it is. */
function isNoMachine({ name, type, operation }: MachineView): boolean {
  return type === undefined && operation === undefined && parseNodeName(name) === undefined;
}

function didWords({ result, intent }: MachineOperation): string {
  if (intent.kind !== 'load' || result?.did === undefined) return '';
  return {
    nothing: ', for it has the image already',
    'post-load': ', by the steps after loading alone',
    everything: '',
  }[result.did];
}
