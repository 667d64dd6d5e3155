import { indexLabels } from '../../model/cluster/labels.js';
import { leftOf, type Operation } from '../../model/cluster/operation.js';
import type { OutputsDocument } from '../../schema/output/documents.js';
import type {
  DeliveryView,
  NextStep,
  StatusDocument,
  Trouble,
  ClusterStatus,
  NodeStatus,
} from '../../schema/output/status.js';
import { cleanLine, cleanText } from '../clean-text.js';
import type { Output, Style } from '../output.js';
import { formatAge, formatDuration, formatMoment } from '../format.js';
import { describeLeft, describeScaled } from './plan/plan-text.js';
import { printOutputsBelow } from './output-text.js';
import { printFailures } from './failure-text.js';
import { printHistory } from './history-text.js';
import { nextSteps } from './next-steps.js';
import {
  describeDoing,
  describeSince,
  describeState,
  driftLines,
  healthLines,
  withHealth,
} from './node-text.js';

const shownHistory = 3;

const styles: Readonly<Partial<Record<NodeStatus['state'], Style>>> = { failed: 'red', drifted: 'yellow' };

/** A cluster for people: phase, operation, nodes, what failed or is stuck, and what to type next. */
export function printStatus(
  output: Output,
  status: ClusterStatus,
  {
    troubles,
    deliveries,
    outputs,
  }: Pick<StatusDocument, 'troubles' | 'deliveries'> & Partial<Pick<OutputsDocument, 'outputs'>>,
  now: number,
): void {
  const {
    name,
    uid,
    phase,
    operation,
    lease,
    queued,
    history,
    stopped,
    locked,
    scaled,
    labels = {},
  } = status;
  output.raw(`cluster ${output.style('bold', cleanLine(name))}: ${phase}`);
  output.line(`uid ${uid}`);
  if (Object.keys(labels).length > 0) output.line(`labels ${indexLabels(labels).join(', ')}`);
  if (operation !== undefined) output.lines(describeOperation(operation, now));
  for (const waiting of queued) output.lines(describeOperation(waiting, now));
  if (lease !== undefined)
    output.line(
      `node ${lease.nodeId} is leased to ${lease.to} since ${formatMoment(lease.since)}; until its release, only delete is accepted`,
    );
  if (operation === undefined && queued.length === 0) output.line('no operation in progress');
  const left = operation === undefined ? describeLeft({ left: leftOf(history) }) : undefined;
  if (left !== undefined) output.line(left);
  if (stopped.length > 0)
    output.line(`stopped by a user: ${stopped.join(', ')}; heddle start ${name} ${stopped.join(' ')}`);
  for (const line of describeScaled(name, scaled)) output.line(line, 'yellow');
  if (locked === true) output.line('locked by its file: delete and replace are refused');
  output.line();
  printNodes(output, status, now);
  printOutputsBelow(output, outputs);
  if (history.length > 0) {
    output.line();
    output.line(`last operations${history.length > shownHistory ? ` (all: heddle history ${name})` : ''}`);
    printHistory(output, history.slice(0, shownHistory), now);
  }
  printFailures(output, status, now);
  printDeliveries(output, deliveries, now);
  printTroubles(output, troubles);
  printNext(output, [...troubles.flatMap(({ next }) => next ?? []), ...nextSteps(status, now)]);
}

export function printNodes(
  output: Output,
  { nodes, checks: { every } }: Pick<ClusterStatus, 'nodes' | 'checks'>,
  now: number,
): void {
  if (nodes.length === 0) {
    output.line('no nodes');
    return;
  }
  const rows = nodes.map((node) => [
    node.nodeId,
    describeState(node, now, every),
    describeDoing(node),
    describeSince(node, now),
    node.ipaddress ?? '-',
    node.services.map((service) => withHealth(service, node.health?.[service], now, every)).join(', '),
  ]);
  output.table(['NODE', 'STATE', 'DOING', 'SINCE', 'ADDRESS', 'SERVICES'], rows, {
    styleOf: (row) => styles[nodes[row]?.state ?? 'new'],
  });
  for (const line of healthLines(nodes, now)) output.line(line, 'red');
  for (const line of driftLines(nodes, now)) output.line(line, 'yellow');
}

/** Events that webhooks have not received. */
function printDeliveries(output: Output, deliveries: readonly DeliveryView[], now: number): void {
  if (deliveries.length === 0) return;
  output.line();
  for (const { event, webhook, state, attempt = 1, since, failure } of deliveries) {
    const how = state === 'given up' ? 'was given up' : `attempt ${attempt}, for ${formatAge(since, now)}`;
    const why = failure === undefined ? '' : `: ${failure}`;
    output.line(cleanLine(`${event} for webhook ${webhook}: ${how}${why}`), 'yellow');
  }
}

export function printTroubles(output: Output, troubles: readonly Trouble[]): void {
  if (troubles.length === 0) return;
  output.line();
  for (const { text } of troubles) {
    const [first = '', ...rest] = cleanText(text).trimEnd().split('\n');
    output.line(`stuck: ${first}`, 'red');
    for (const line of rest) output.raw(`  ${line}`);
  }
}

/** `next:` marks the most likely command, `or:` the others; each command once. */
export function printNext(output: Output, steps: readonly NextStep[]): void {
  const unique = steps.filter(
    ({ command }, index) => steps.findIndex((other) => other.command === command) === index,
  );
  if (unique.length === 0) return;
  const width = Math.max(...unique.map(({ command }) => command.length));
  output.line();
  const [{ remedy } = {}] = unique;
  if (remedy !== undefined) output.line(`next: ${remedy}`);
  unique.forEach(({ command, why }, index) => {
    const lead = index > 0 ? 'or:  ' : remedy === undefined ? 'next:' : 'then:';
    output.line(`${lead} ${command.padEnd(width)}  ${why}`);
  });
}

function describeOperation(operation: Operation, now: number): string {
  const { id, what, by, requestedAt, reason, abandoned = [], unchanged } = operation;
  const head = `operation ${id}: ${what} by ${by}, ${stateOf(operation, now)}${unchanged === true ? ', no changes' : ''}${countsOf(operation)}`;
  const asked = operation.state === 'queued' ? `, requested ${formatAge(requestedAt, now)} ago` : '';
  const why = reason === undefined ? [] : [reason.split('\n')[0] ?? ''];
  return [
    cleanLine(`${head}${asked}`),
    ...[...why, ...abandoned.map((machine) => `abandoned without deletion: ${machine}`)].map(
      (line) => `  ${cleanLine(line)}`,
    ),
  ].join('\n');
}

function stateOf({ state, startedAt, requestedAt, endedAt, paused }: Operation, now: number): string {
  const began = startedAt ?? requestedAt;
  if (endedAt !== undefined)
    return `${state} ${formatMoment(endedAt)} after ${formatDuration(Date.parse(endedAt) - Date.parse(began))}`;
  if (paused !== undefined)
    return `paused by ${paused.by} ${formatAge(paused.at, now)} ago (${formatMoment(paused.at)})`;
  if (state === 'queued') return 'waits for its turn';
  return `${state}, began ${formatMoment(began)} (${formatAge(began, now)} ago)`;
}

function countsOf({ tasks: { total, done, failed } }: Operation): string {
  if (total === 0) return '';
  return `, ${done} of ${total} tasks done${failed > 0 ? `, ${failed} failed` : ''}`;
}
