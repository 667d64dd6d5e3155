import type { FailureRecord } from '../../model/node/failure.js';
import type { Operation } from '../../model/cluster/operation.js';
import type { ClusterStatus, NodeStatus } from '../../schema/output/status.js';
import type { EndedDocument } from '../../schema/output/operation.js';
import { cleanLine, cleanText } from '../clean-text.js';
import type { Output } from '../output.js';
import { formatAge, optional } from '../format.js';
import { taskWords } from './node-text.js';

const shownFailures = 5;
const shownOutputLines = 12;

/**
 * Every failure with its task, place, age, and the end of its output; equal failures of several nodes are
 * shown once.
 */
export function printFailures(
  output: Output,
  { name, nodes }: Pick<ClusterStatus, 'name' | 'nodes'>,
  now: number,
): void {
  printGroups(output, name, failedNodes(nodes), now);
}

/** The first few failures that an ended operation recorded; its nodes may have forgotten them. */
export function printRecorded(
  output: Output,
  cluster: string,
  { failures = [] }: Operation,
  now: number,
): void {
  const recorded = failures.map(({ nodeId: node, ...failure }) => ({ node, failure }));
  printGroups(output, cluster, recorded, now);
}

/** For programs: the nodes' own records if they still exist, else those of the operation. */
export function failuresOf(
  { nodes }: ClusterStatus,
  { failures = [] }: Operation,
): EndedDocument['failures'] {
  const recorded = failedNodes(nodes).map(({ node, failure }) => ({ nodeId: node, ...failure }));
  return recorded.length > 0 ? recorded : failures;
}

type Failure = Pick<FailureRecord, 'action' | 'kind' | 'message' | 'at'> & Partial<FailureRecord>;

interface NodeFailure {
  readonly node: string;
  readonly failure: Failure;
}

function failedNodes(nodes: readonly NodeStatus[]): readonly NodeFailure[] {
  return nodes.flatMap(({ nodeId: node, failure }) => (failure === undefined ? [] : [{ node, failure }]));
}

function printGroups(output: Output, cluster: string, failures: readonly NodeFailure[], now: number): void {
  const groups = groupFailures(failures);
  for (const [first, ...others] of groups.slice(0, shownFailures))
    if (first !== undefined) printFailure(output, cluster, first, others, now);
  if (groups.length > shownFailures) output.lines(`\nand ${groups.length - shownFailures} other failures`);
}

function groupFailures(failures: readonly NodeFailure[]): readonly (readonly NodeFailure[])[] {
  const groups = new Map<string, NodeFailure[]>();
  for (const { node, failure } of failures) {
    const { action, service, kind, exitCode, message } = failure;
    // Messages name their node.
    const key = JSON.stringify([action, service, kind, exitCode, message.replaceAll(node, '')]);
    groups.set(key, [...(groups.get(key) ?? []), { node, failure }]);
  }
  return [...groups.values()];
}

function printFailure(
  output: Output,
  cluster: string,
  { node, failure }: NodeFailure,
  others: readonly NodeFailure[],
  now: number,
): void {
  const exit = optional(', exit code ', failure.exitCode);
  output.line();
  output.line(
    `${node}: ${taskWords(failure)} failed ${formatAge(failure.at, now)} ago (${failure.kind}${exit})`,
    'red',
  );
  for (const line of cleanText(failure.message).trimEnd().split('\n')) output.raw(`  ${line}`);
  for (const stream of ['stdout', 'stderr'] as const) {
    const text = cleanText(failure[stream] ?? '').trimEnd();
    if (text === '') continue;
    output.line(`  end of its ${stream}:`);
    for (const line of text.split('\n').slice(-shownOutputLines)) output.raw(`    ${line}`);
  }
  if (failure.remedy !== undefined) output.line(`  remedy: ${failure.remedy}`);
  const service = optional(' --service ', failure.service);
  output.line(`  its log: ${`heddle logs ${cluster} ${node}${service} --action ${failure.action}`}`);
  if (others.length === 0) return;
  const named = others
    .slice(0, 3)
    .map((other) => cleanLine(other.node))
    .join(', ');
  output.line(`  the same on ${named}${others.length > 3 ? ` and ${others.length - 3} more` : ''}`);
}
