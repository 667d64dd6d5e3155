import stringWidth from 'string-width';
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
  const head = renderHead(status, operation, size.columns - 1, now);
  const lines = [...head, ...renderNodes(status.nodes, Math.max(1, size.rows - 1 - head.length), now)];
  // The last column stays free: some terminals wrap when it is written.
  return lines.map((line) => ({ ...line, text: cutTo(line.text, size.columns - 1) }));
}

/** One line, or two if the counts would not fit. */
function renderHead(
  status: ClusterStatus,
  operation: Operation,
  width: number,
  now: number,
): readonly ViewLine[] {
  const { paused, id, what } = operation;
  const elapsed = formatAge(
    operation.startedAt ?? operation.requestedAt,
    operation.endedAt === undefined ? now : Date.parse(operation.endedAt),
  );
  const pause = paused === undefined ? '' : `, paused by ${paused.by}`;
  // A long command leaves room for the time.
  const shown = cutTo(cleanLine(what), 40);
  const title = cleanLine(`${status.name}: ${shown} (operation ${id})  ${elapsed}`);
  const counts = cleanLine(`${describeCounts(status, operation)}${pause}`);
  const line = `${title}  ${counts}`;
  const texts = stringWidth(line) <= width ? [line] : [title, `  ${counts}`];
  return texts.map((text) => ({ text, style: 'bold' }));
}

function describeCounts({ nodes }: ClusterStatus, { state, tasks }: Operation): string {
  if (state === 'queued') return 'waits for earlier operations';
  if (tasks.total === 0) return 'planning';
  const running = nodes.filter(({ current }) => current?.state === 'running').length;
  return [
    `${tasks.done} of ${tasks.total} tasks done`,
    ...(tasks.failed > 0 ? [`${tasks.failed} failed`] : []),
    ...(running > 0 ? [`${running} running`] : []),
  ].join(', ');
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
