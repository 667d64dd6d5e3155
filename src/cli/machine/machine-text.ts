import { indexLabels } from '../../model/cluster/labels.js';
import type { MachineView } from '../../schema/output/machine.js';
import { describeIntent } from '../../model/machine/decide.js';
import { readingsThreshold } from '../../model/machine/drift.js';
import { formatImageRef } from '../../model/machine/image.js';
import { parseNodeName } from '../../model/machine/node-machine.js';
import type { MachineOperation } from '../../model/machine/state.js';
import type { NodeStatusReport } from '../../model/machine/node-status.js';
import { cleanLine } from '../clean-text.js';
import type { Output } from '../output.js';
import { formatAge, formatCount, formatDuration, formatMoment, optional } from '../format.js';

/** How an operation ended, its result, and the next command. */
export function printEnd(output: Output, machine: MachineView, operation: MachineOperation): void {
  const { intent, state, result, failure, notes, answer, startedAt, endedAt = startedAt } = operation;
  const took = formatDuration(Date.parse(endedAt) - Date.parse(startedAt));
  const words = `${machine.name}: ${describeIntent(intent)}`;
  const failed = answer === 'unknown' ? 'ended with an unknown result' : 'failed';
  if (state === 'done') output.line(`${words} done in ${took}${didWords(operation)}`);
  else
    output.line(
      `${words} ${state === 'cancelled' ? 'cancelled' : failed} after ${took}${kindOf(failure)}`,
      'red',
    );
  if (failure !== undefined) output.line(`  ${failure.message}`);
  for (const note of notes) output.line(`  ${note}`);
  const { power, status, sizeMb, image } = result ?? {};
  if (power !== undefined) output.line(`power: ${power.power}${optional(', ', power.why)}`);
  if (status !== undefined && (intent.kind === 'status' || state !== 'done')) {
    printStatus(output, status);
    printHardware(output, machine);
    printErasure(output, machine);
  }
  if (sizeMb !== undefined && image !== undefined)
    output.line(`image ${formatImageRef(image)}: ${sizeMb} MB`);
  const isNode = parseNodeName(machine.name) !== undefined;
  if (!isNode) output.line(`machine ${machine.name} is ${describeState(machine)}`);
  if (state !== 'done') output.line(`next: ${nextStep(machine, operation)}`);
}

function printStatus(output: Output, report: NodeStatusReport): void {
  const { status, why, evidence } = report;
  const shown = (value: unknown): string =>
    value === null || value === undefined ? '?' : typeof value === 'string' ? value : JSON.stringify(value);
  output.raw(`status: ${output.style('bold', status)}, ${cleanLine(why)}`);
  const facts = ['ping', 'ssh', 'rpower', 'nodeset', 'nodetype', 'currentimage'] as const;
  const by = evidence.pingBy === undefined ? '' : ` (${evidence.pingBy === 'icmp' ? 'ICMP echo' : 'TCP'})`;
  const text = (fact: (typeof facts)[number]): string =>
    `${fact} ${shown(report[fact])}${fact === 'ping' ? by : ''}`;
  output.line(`  ${facts.map(text).join(', ')}`);
  const { revision, wanted, tainted, taintReasons, postLoad, notes } = evidence;
  const reasons = taintReasons.length === 0 ? '' : ` (${taintReasons.join(', ')})`;
  output.line(
    `  revision ${shown(revision)}, wanted ${shown(wanted)}, tainted ${shown(tainted)}${reasons}, post-load ${shown(postLoad)}`,
  );
  for (const note of notes) output.line(`  ${note}`);
}

/** What it consists of, in one line. */
function describeHardware({ hardware }: MachineView): string | undefined {
  if (hardware === undefined) return undefined;
  const { manufacturer, model, serial, processors = {}, memoryMb, disks = [], interfaces = [] } = hardware;
  const { count, model: processor, cores } = processors;
  const bytes = disks.reduce((sum, disk) => sum + (disk.bytes ?? 0), 0);
  const facts = [
    [manufacturer, model].filter((word) => word !== undefined).join(' '),
    optional('serial ', serial),
    count === undefined ? (processor ?? '') : `${formatCount(count, 'processor')}${optional(' ', processor)}`,
    cores === undefined ? '' : formatCount(cores, 'core'),
    memoryMb === undefined ? '' : `${Math.round(memoryMb / 1_024)} GiB memory`,
    disks.length === 0
      ? ''
      : `${formatCount(disks.length, 'disk')}${bytes === 0 ? '' : ` with ${Math.round(bytes / 1e9)} GB`}`,
    interfaces.length === 0 ? '' : formatCount(interfaces.length, 'network interface'),
  ].filter((fact) => fact !== '');
  return facts.length === 0 ? undefined : facts.join(', ');
}

function printHardware(output: Output, machine: MachineView): void {
  const hardware = describeHardware(machine);
  if (hardware !== undefined) output.line(`  hardware: ${hardware}`);
}

/** How its disks were erased after its last user. */
function printErasure(output: Output, { erasure, unerased }: MachineView): void {
  if (unerased === true) output.line('  its disks have not been erased since its last user');
  if (erasure === undefined) return;
  for (const { device, method, bytes, samples, zeros, sha256 } of erasure.disks)
    output.line(
      `  erased ${formatMoment(erasure.at)}: ${device} by ${method}, ${bytes} bytes; of ${formatCount(samples, 'block')} read, ${zeros} are zeros and ${samples - zeros} changed; sha256 ${sha256}`,
    );
}

/** A machine for people. */
export function printMachine(output: Output, machine: MachineView, now: number): void {
  const {
    name,
    provider,
    type = '?',
    site = '?',
    image,
    half,
    user,
    holder,
    address = '-',
    operation,
  } = machine;
  const system = machine.system ?? 'none';
  output.line(`machine ${name}: ${describeState(machine)}`);
  output.line(
    `  ${type} (provider ${provider}), site ${site}, system ${system}, address ${address}${optional(', user ', user)}`,
  );
  const loaded =
    image === undefined ? 'unknown' : `${formatImageRef(image)} since ${formatMoment(image.since)}`;
  output.line(
    `  image ${loaded}${half === undefined ? '' : `; ${formatImageRef(half)} is partly written to its disk`}`,
  );
  printHardware(output, machine);
  printErasure(output, machine);
  const { quarantine } = machine;
  if (quarantine !== undefined)
    output.line(
      `  quarantined by ${quarantine.by} since ${formatMoment(quarantine.since)}: ${quarantine.comment}`,
    );
  if (machine.groups.length > 0) output.line(`  groups ${machine.groups.join(', ')}`);
  const labels = indexLabels(machine.labels);
  if (labels.length > 0) output.line(`  labels ${labels.join(', ')}`);
  if (holder !== undefined) {
    const until = formatMoment(holder.until);
    output.line(`  reserved for ${holder.user} until ${until}, reservation ${holder.reservation}`);
  }
  if (operation !== undefined) {
    const { intent, by, step } = operation;
    const at = step && `${step.number}/${step.of} ${step.step}, about ${formatDuration(step.leftMs)} left`;
    output.line(`  now: ${describeIntent(intent)} by ${by}${optional(', ', at)}`);
  }
  for (const { kind, expected, found, since, seen, tries } of machine.drift) {
    const said = seen < readingsThreshold ? 'seen once' : `since ${formatMoment(since)}`;
    const isGone = kind === 'gone';
    const what = isGone
      ? 'it is gone: its provider does not have the machine'
      : `${kind} is ${found}, not ${expected}`;
    output.line(`  drift: ${what}, ${said}${tries === 0 ? '' : `, corrected ${formatCount(tries, 'time')}`}`);
  }
  for (const { id, intent, by, state, endedAt, failure } of machine.history.slice(0, 5)) {
    const ended = endedAt === undefined ? '' : ` ${formatAge(endedAt, now)} ago`;
    output.line(
      `  ${id}: ${describeIntent(intent)} by ${by}, ${state}${ended}${kindOf(failure)}${optional(': ', failure?.message)}`,
    );
  }
}

function kindOf(failure: MachineOperation['failure']): string {
  return failure === undefined ? '' : ` (${failure.kind})`;
}

/** The command that shows or repairs the state after a failure. */
function nextStep(machine: MachineView, { intent, failure }: MachineOperation): string {
  const node = parseNodeName(machine.name);
  if (node !== undefined) return `heddle ${node.of === 'cluster' ? 'status' : 'pool nodes'} ${node.name}`;
  if (isUnregistered(machine)) return 'heddle provider list';
  const isRegistration = intent.kind === 'register' || intent.kind === 'retry';
  const isUnconfirmed = failure?.action === 'ENROL' || failure?.action === 'CONFIRM';
  const registration = isUnconfirmed ? 'retry' : 'remove';
  return `heddle machine ${isRegistration ? registration : 'status'} ${machine.name}`;
}

function describeState(machine: MachineView): string {
  if (machine.removed === true) return 'no longer registered';
  if (isUnregistered(machine)) return 'not registered';
  const { state, power, why, quarantine } = machine;
  return `${formatState({ state: state === 'maintenance' ? 'in maintenance' : state, power, quarantine })}${optional(': ', why)}`;
}

/** A state of a machine, and whether it is switched off or quarantined. */
export function formatState({
  state,
  power,
  quarantine,
}: Pick<MachineView, 'power' | 'quarantine'> & { readonly state: string }): string {
  return [
    state,
    ...(power === 'off' ? ['stopped'] : []),
    ...(quarantine === undefined ? [] : ['quarantined']),
  ].join(', ');
}

/** Whether its registration failed before its type was known. */
export function isUnregistered({ name, type, operation }: MachineView): boolean {
  return type === undefined && operation === undefined && parseNodeName(name) === undefined;
}

function didWords({ result, intent }: MachineOperation): string {
  if (intent.kind !== 'load' || result?.did === undefined) return '';
  return {
    nothing: ', because it already has the image',
    'post-load': ', with only the steps after loading',
    everything: '',
  }[result.did];
}
