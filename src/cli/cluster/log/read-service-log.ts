import { randomUUID } from 'node:crypto';
import type { ServiceLogs } from '../../../schema/cluster/service-logs.js';
import type { ClusterStatus } from '../../../schema/output/status.js';
import { drained } from '../../drained.js';
import type { Output } from '../../output.js';
import { type NodeRun, runOnNode } from '../../run-on-node.js';
import type { Session } from '../../session.js';
import { findTargetOf } from '../node-target.js';

/** A machine whose logs are read. */
export interface Place {
  readonly node: string;
  /** Of the machine: a replaced one has another. */
  readonly incarnation: number;
  /** Provider account of its machine. */
  readonly account: string;
}

export function placesOf({ nodes }: ClusterStatus, ids: readonly string[]): readonly Place[] {
  const wanted = new Set(ids);
  return nodes.flatMap(({ nodeId, incarnation, provider }) =>
    wanted.has(nodeId) ? [{ node: nodeId, incarnation, account: provider ?? '' }] : [],
  );
}

export interface Reading {
  readonly session: Session;
  readonly cluster: string;
  readonly service: string;
  readonly logs: ServiceLogs;
  /** Lines of each node. */
  readonly tail: number;
  readonly signal: AbortSignal;
  readonly isOne: boolean;
}

interface ReadOptions {
  readonly lines: number;
  readonly follow: boolean;
  readonly onOutput?: () => void;
}

/** Shows what the service has written on a node; never throws. */
export function readServiceLog(
  { session, cluster, service, logs, signal, isOne }: Reading,
  { node, account }: Place,
  { lines, follow, onOutput }: ReadOptions,
): Promise<NodeRun> {
  const { output } = session;
  const shown = isOne ? 'plain' : 'prefixed';
  return runOnNode(node, () => findTargetOf(session, { cluster, node, account }), {
    command: commandOf(logs),
    folder: `heddle-logs-${randomUUID()}`,
    sudo: logs.sudo,
    variables: { LINES: String(lines), FOLLOW: follow ? '1' : '' },
    signal,
    untilAborted: true,
    ...(onOutput === undefined ? {} : { onOutput }),
    output: output.json
      ? (stream, text) => recordLine(output, { node, service, stream, text }, signal)
      : shown,
  });
}

async function recordLine(output: Output, line: object, signal: AbortSignal): Promise<void> {
  output.record(line);
  await drained(process.stdout, signal);
}

/** Paths have no characters that a shell would take for others, except those that stand for several files. */
function commandOf({ files, command = '' }: ServiceLogs): string {
  if (files === undefined) return command;
  return `exec tail -q -n "$LINES" \${FOLLOW:+-F} -- ${files.join(' ')}`;
}
