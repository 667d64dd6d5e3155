import type { FailureRecord } from '../model/failure.js';
import type { Operation } from '../model/operation.js';
import type { ClusterStatus, NodeStatus } from '../model/status.js';
import { cleanLine, cleanText } from './clean-text.js';
import { describeDoing, describeSince, taskWords } from './node-words.js';
import type { Output } from './output.js';
import { formatTable } from './table.js';
import { formatAge, formatDuration, formatMoment } from './time-text.js';

const shownFailures = 5;
const shownOutputLines = 12;

/** A cluster for people: phase, operation, nodes, failures with their last output, and what to type next. */
export function printStatus(output: Output, status: ClusterStatus, now: number): void {
  output.line(`cluster ${output.style('bold', cleanLine(status.name))}: ${status.phase}`);
  output.line(`uid ${cleanLine(status.uid)}`);
  const shown = status.operation ?? status.history[0];
  if (shown !== undefined) output.line(describeOperation(shown, now));
  for (const queued of status.queued) output.line(describeOperation(queued, now));
  output.line();
  printNodes(output, status.nodes, now);
  printFailures(output, status, now);
  const next = nextCommand(status);
  if (next !== undefined) output.line(`\nnext: ${next}`);
  if (status.phase === 'held') output.line(`or: correct the file and apply it again, or heddle delete ${cleanLine(status.name)}`);
}

export function printNodes(output: Output, nodes: readonly NodeStatus[], now: number): void {
  if (nodes.length === 0) {
    output.line('no nodes');
    return;
  }
  const rows = nodes.map((node) => [
    node.nodeId, node.state, describeDoing(node), describeSince(node, now), node.ipaddress ?? '-', node.services.join(','),
  ]);
  const [head = '', ...lines] = formatTable(['NODE', 'STATE', 'DOING', 'SINCE', 'ADDRESS', 'SERVICES'], rows);
  output.line(output.style('bold', head));
  lines.forEach((line, index) => output.line(nodes[index]?.state === 'failed' ? output.style('red', line) : line));
}

/** Every failure with what failed, where, since when, and the end of what it printed; the same on several nodes is told once. */
export function printFailures(output: Output, status: ClusterStatus, now: number): void {
  const groups = groupFailures(status.nodes);
  for (const [first, ...others] of groups.slice(0, shownFailures)) {
    if (first !== undefined) printFailure(output, status.name, first, others, now);
  }
  if (groups.length > shownFailures) output.line(`\nand ${groups.length - shownFailures} other failures`);
}

interface NodeFailure {
  readonly node: string;
  readonly failure: FailureRecord;
}

function groupFailures(nodes: readonly NodeStatus[]): readonly (readonly NodeFailure[])[] {
  const groups = new Map<string, NodeFailure[]>();
  for (const { nodeId: node, failure } of nodes) {
    if (failure === undefined) continue;
    const { action, service, kind, exitCode, message } = failure;
    // Messages name their node.
    const key = JSON.stringify([action, service, kind, exitCode, message.replaceAll(node, '')]);
    groups.set(key, [...(groups.get(key) ?? []), { node, failure }]);
  }
  return [...groups.values()];
}

function printFailure(output: Output, cluster: string, { node, failure }: NodeFailure, others: readonly NodeFailure[], now: number): void {
  const exit = failure.exitCode === undefined ? '' : `, exit code ${failure.exitCode}`;
  output.line();
  output.line(output.style('red', `${cleanLine(node)}: ${cleanLine(taskWords(failure))} failed ${formatAge(failure.at, now)} ago (${cleanLine(failure.kind)}${exit})`));
  for (const line of cleanText(failure.message).trimEnd().split('\n')) output.line(`  ${line}`);
  for (const stream of ['stdout', 'stderr'] as const) {
    const text = cleanText(failure[stream] ?? '').trimEnd();
    if (text === '') continue;
    output.line(`  last of its ${stream}:`);
    for (const line of text.split('\n').slice(-shownOutputLines)) output.line(`    ${line}`);
  }
  const service = failure.service === undefined ? '' : ` --service ${failure.service}`;
  output.line(`  all of it: ${cleanLine(`heddle logs ${cluster} ${node}${service} --action ${failure.action}`)}`);
  if (others.length === 0) return;
  const named = others.slice(0, 3).map((other) => cleanLine(other.node)).join(', ');
  output.line(`  the same on ${named}${others.length > 3 ? ` and ${others.length - 3} more` : ''}`);
}

/** What one would most likely type now. */
export function nextCommand({ name, operation, phase }: ClusterStatus): string | undefined {
  if (operation === undefined) return undefined;
  // It goes on from what failed.
  if (phase === 'held') return `heddle retry ${name}`;
  return operation.state === 'running' || operation.state === 'queued' ? `heddle status ${name} --watch` : undefined;
}

export function describeOperation(operation: Operation, now: number): string {
  const { id, kind, state, by, tasks, startedAt, endedAt, requestedAt, reason } = operation;
  const counts = tasks.total === 0 ? '' : `, ${tasks.done} of ${tasks.total} tasks done${tasks.failed > 0 ? `, ${tasks.failed} failed` : ''}`;
  const time = endedAt !== undefined
    ? `, took ${formatDuration(Date.parse(endedAt) - Date.parse(startedAt ?? requestedAt))}, ended ${formatMoment(endedAt)}`
    : `, since ${formatMoment(startedAt ?? requestedAt)} (${formatAge(startedAt ?? requestedAt, now)})`;
  const unchanged = operation.unchanged === true ? ', nothing had to change' : '';
  const why = reason === undefined ? '' : `\n  ${cleanLine(reason.split('\n')[0] ?? '')}`;
  return `operation ${id}: ${kind} by ${cleanLine(by)}, ${state}${unchanged}${counts}${time}${why}`;
}
