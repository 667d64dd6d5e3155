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
const saveCursor = '\u001b7';
const restoreCursor = '\u001b8';
const eraseLine = '\u001b[2K';
const eraseBelow = '\u001b[0J';

const up = (lines: number): string => (lines === 0 ? '' : `\u001b[${lines}A`);
const down = (lines: number): string => (lines === 0 ? '' : `\u001b[${lines}B`);

/**
 * Redraws its lines at most ten times a second; the elapsed time advances also between updates. Between
 * frames the cursor is at the start of the view, from where everything can be erased: a terminal that changes
 * its width breaks the lines anew, and keeps the cursor with its text.
 */
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
    const all: readonly ViewLine[] = [
      ...renderProgress(shown.status, shown.operation, size, Date.now()),
      ...(warning === undefined
        ? []
        : [{ text: cutTo(cleanLine(warning), size.columns - 1), style: 'red' as const }]),
    ];
    // A view that scrolls could not be erased.
    const lines = all.slice(0, Math.max(1, stream.rows - 1));
    const frame = lines
      .map(({ text, style }) => `${eraseLine}${style === undefined ? text : output.style(style, text)}\n`)
      .join('');
    if (frame === lastFrame) return;
    lastFrame = frame;
    height = lines.length;
    // One write, so that no partial frame is ever seen.
    stream.write(`${hideCursor}\r${frame}${eraseBelow}${up(height)}`);
  };
  // Line by line: tmux would move what it erases at once from its first line to its scrollback.
  const erase = (): void =>
    void stream.write(`\r${saveCursor}${`${eraseLine}${down(1)}`.repeat(stream.rows)}${restoreCursor}`);
  const resize = (): void => {
    erase();
    lastFrame = '';
    draw();
  };
  const leave = (): void => void stream.write(`${down(height)}${showCursor}`);
  const timer = setInterval(draw, frameMs);
  stream.on('resize', resize);
  process.once('exit', leave);
  return {
    show(status, operation) {
      shown = { status, operation };
    },
    warn(text) {
      warning = text;
    },
    async end() {
      clearInterval(timer);
      stream.off('resize', resize);
      process.off('exit', leave);
      warning = undefined;
      // Whatever the terminal itself wrote into the view, such as ^C, goes.
      lastFrame = '';
      if (!fleeting) draw();
      else {
        if (height > 0) erase();
        height = 0;
      }
      leave();
    },
  };
}
