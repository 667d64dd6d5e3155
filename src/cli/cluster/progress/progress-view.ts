import type { Operation } from '../../../model/cluster/operation.js';
import type { ClusterStatus, NodeStatus } from '../../../schema/output/status.js';
import { cleanLine } from '../../clean-text.js';
import type { Style } from '../../output.js';
import { cutTo, formatTable } from '../../table.js';
import { formatAge } from '../../format.js';
import { describeDoing, describeSince } from '../node-text.js';

export interface ViewSize {
  readonly columns: number;
  readonly rows: number;
}

/** A line of the view; text and colour are separate, so that it can be cut to a width. */
export interface ViewLine {
  readonly text: string;
  readonly style?: Style;
}

/** What a terminal shows of an operation under way: a head, and a row per node as far as there is room. */
export function renderProgress(
  status: ClusterStatus,
  operation: Operation,
  size: ViewSize,
  now: number,
): readonly ViewLine[] {
  const lines = [
    renderHead(status, operation, now),
    ...renderNodes(status.nodes, Math.max(1, size.rows - 2), now),
  ];
  // The last column stays free: some terminals wrap when it is written.
  return lines.map((line) => ({ ...line, text: cutTo(line.text, size.columns - 1) }));
}

function renderHead(status: ClusterStatus, operation: Operation, now: number): ViewLine {
  const { tasks, paused, id, what } = operation;
  const running = status.nodes.filter(({ current }) => current?.state === 'running').length;
  const elapsed = formatAge(
    operation.startedAt ?? operation.requestedAt,
    operation.endedAt === undefined ? now : Date.parse(operation.endedAt),
  );
  const counts =
    operation.state === 'queued'
      ? 'waits for earlier operations'
      : tasks.total === 0
        ? 'planning'
        : `${tasks.done} of ${tasks.total} tasks done${running > 0 ? `, ${running} running` : ''}${tasks.failed > 0 ? `, ${tasks.failed} failed` : ''}`;
  const pause = paused === undefined ? '' : `, paused by ${paused.by}`;
  // A long command leaves room for the counts.
  const shown = cutTo(cleanLine(what), 40);
  return {
    text: cleanLine(`${status.name}: ${shown} (operation ${id})  ${elapsed}  ${counts}${pause}`),
    style: 'bold',
  };
}

function renderNodes(nodes: readonly NodeStatus[], room: number, now: number): readonly ViewLine[] {
  const shown = nodes.length <= room ? nodes : byUrgency(nodes).slice(0, room - 1);
  const cells = shown.map((node) => [node.nodeId, node.state, describeSince(node, now), describeDoing(node)]);
  const rows = formatTable(['', '', '', ''], cells).slice(1);
  const lines = rows.map((text, index): ViewLine => {
    const style = styles[shown[index]?.state ?? 'new'];
    return { text: `  ${text}`, style };
  });
  return shown.length === nodes.length
    ? lines
    : [...lines, { text: `  and ${nodes.length - shown.length} more nodes` }];
}

const styles: Readonly<Record<NodeStatus['state'], Style | undefined>> = {
  failed: 'red',
  working: 'yellow',
  leaving: 'yellow',
  incomplete: 'yellow',
  ready: 'green',
  drifted: 'yellow',
  new: undefined,
};

/** Without space for all: failed nodes first, then running, then waiting ones. */
function byUrgency(nodes: readonly NodeStatus[]): readonly NodeStatus[] {
  const rank = (node: NodeStatus): number => {
    if (node.failure !== undefined) return 0;
    if (node.current?.state === 'running') return 1;
    return node.current !== undefined ? 2 : 3;
  };
  return nodes.toSorted((a, b) => rank(a) - rank(b) || a.nodenum - b.nodenum);
}
