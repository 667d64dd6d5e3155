import type { Operation } from '../../../model/cluster/operation.js';
import type { ClusterStatus } from '../../../schema/output/status.js';
import { cleanLine } from '../../clean-text.js';
import type { Output } from '../../output.js';
import { cutTo } from '../../table.js';
import { renderProgress, type ViewLine } from './progress-view.js';

/** Shows an operation while it is under way. */
export interface ProgressView {
  show(status: ClusterStatus, operation: Operation): void;
  /**
   * Shows this line with the last state when something does not respond or blocks the work; undefined
   * removes it.
   */
  warn(text: string | undefined): void;
  /** Leaves the last state on the screen, or erases it if it is fleeting, and restores the terminal. */
  end(): Promise<void>;
}

const frameMs = 100;
const hideCursor = '\u001b[?25l';
const showCursor = '\u001b[?25h';

/** Redraws its lines at most ten times a second; the elapsed time advances also between updates. */
export function openLiveView(
  output: Output,
  stream: NodeJS.WriteStream,
  { fleeting }: { readonly fleeting: boolean },
): ProgressView {
  let shown: { readonly status: ClusterStatus; readonly operation: Operation } | undefined;
  let warning: string | undefined;
  let height = 0;
  let lastFrame = '';
  const draw = (): void => {
    if (shown === undefined) return;
    const size = { columns: stream.columns, rows: stream.rows - (warning === undefined ? 0 : 1) };
    const lines: readonly ViewLine[] = [
      ...renderProgress(shown.status, shown.operation, size, Date.now()),
      ...(warning === undefined
        ? []
        : [{ text: cutTo(cleanLine(warning), size.columns - 1), style: 'red' as const }]),
    ];
    const frame = lines
      .map(({ text, style }) => `\u001b[2K${style === undefined ? text : output.style(style, text)}\n`)
      .join('');
    if (frame === lastFrame) return;
    lastFrame = frame;
    // One write, so that no partial frame is ever seen.
    stream.write(`${hideCursor}${height > 0 ? `\u001b[${height}A\r` : ''}${frame}\u001b[0J`);
    height = lines.length;
  };
  // After a change of size the place of the old lines is unknown: begin below them.
  const forget = (): void => {
    height = 0;
    lastFrame = '';
  };
  const restoreCursor = (): void => void stream.write(showCursor);
  const timer = setInterval(draw, frameMs);
  stream.on('resize', forget);
  process.once('exit', restoreCursor);
  return {
    show(status, operation) {
      shown = { status, operation };
    },
    warn(text) {
      warning = text;
    },
    async end() {
      clearInterval(timer);
      stream.off('resize', forget);
      process.off('exit', restoreCursor);
      warning = undefined;
      if (!fleeting) draw();
      else if (height > 0) stream.write(`\u001b[${height}A\r\u001b[0J`);
      restoreCursor();
    },
  };
}
