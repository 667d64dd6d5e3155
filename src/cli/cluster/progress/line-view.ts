import type { Client } from '@temporalio/client';
import type { Operation } from '../../../model/cluster/operation.js';
import type { ClusterStatus } from '../../../schema/output/status.js';
import type { Output } from '../../output.js';
import { formatAge, formatClock, formatDuration, optional } from '../../format.js';
import { describeDoing } from '../node-text.js';
import { decodeFailure, type HistoryFailure } from '../../../client/decode-history.js';
import type { TaskRun } from '../task/task-events.js';
import { followTasks } from './follow-tasks.js';
import type { ProgressView } from './live-view.js';

/** After this long without a line, one line says that the work continues. */
const quietMs = 30_000;

export interface LineViewOptions {
  readonly temporal: Client;
  readonly cluster: string;
  /** Milliseconds since the epoch; tasks that ended earlier are not shown. */
  readonly since: number;
}

/** Progress without a terminal: a line for each task that ends. */
export function openLineView(output: Output, { temporal, cluster, since }: LineViewOptions): ProgressView {
  const stop = new AbortController();
  let spokeAt = Date.now();
  let warned: string | undefined;
  const say = (at: number, text: string): void => {
    spokeAt = Date.now();
    output.line(`${formatClock(new Date(at))} ${text}`);
  };
  const follow = (operation: string): Promise<void> =>
    followTasks(temporal, cluster, {
      operation,
      since,
      signal: stop.signal,
      onEnd: async (run) => say(run.end?.at ?? Date.now(), await describeEnd(temporal, run)),
      // The wait itself reports a server that does not answer.
    }).catch(() => undefined);
  let following: Promise<void> | undefined;
  return {
    show(status, shown) {
      // Following reads whole histories, which takes a second for 1,000 nodes.
      if (shown.tasks.total > 0) following ??= follow(shown.uid);
      if (Date.now() - spokeAt > quietMs) say(Date.now(), describeQuiet(status, shown));
    },
    warn(text) {
      if (text !== undefined && text !== warned) say(Date.now(), text);
      warned = text;
    },
    async end() {
      if (following === undefined) return;
      // The last lines may still be on their way.
      setTimeout(() => stop.abort(), 300).unref();
      await following;
    },
  };
}

async function describeEnd(
  temporal: Client,
  { nodeId, action, service, scheduledAt, end }: TaskRun,
): Promise<string> {
  if (end === undefined) return '';
  const task = `${nodeId} ${action}${optional(' ', service)}`;
  const took = formatDuration(end.at - scheduledAt);
  if (end.state === 'done') return `${task} done ${took}`;
  if (!end.failure) return `${task} ${end.state} after ${took}`;
  const { type, message } = await decodeFailure(temporal, end.failure).catch((): HistoryFailure => ({
    message: 'its message cannot be decrypted',
  }));
  const kind = type === undefined ? '' : ` (${type})`;
  return `${task} ${end.state} after ${took}${kind}: ${message.split('\n')[0] ?? ''}`;
}

function describeQuiet(status: ClusterStatus, { tasks, paused, state }: Operation): string {
  if (state === 'queued')
    return `waits for operation ${status.operation?.id ?? ''} (${status.operation?.what ?? 'another one'}) to end`;
  if (paused !== undefined)
    return `paused by ${paused.by} for ${formatAge(paused.at, Date.now())}, ${tasks.done} of ${tasks.total} tasks done; heddle resume ${status.name}`;
  const busy = status.nodes
    .filter((node) => node.current !== undefined)
    .map(
      (node) =>
        `${node.nodeId} ${describeDoing(node)} for ${formatAge(node.current?.since ?? '', Date.now())}`,
    );
  const more = busy.length > 3 ? `, and ${busy.length - 3} more nodes` : '';
  return `${tasks.done} of ${tasks.total} tasks done; ${busy.slice(0, 3).join(', ')}${more}`;
}
