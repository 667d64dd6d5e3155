import { execFileSync, spawnSync } from 'node:child_process';
import { newFolder } from '../folder.js';

const path = '/usr/bin:/bin';

/**
 * Whether there is tmux, a terminal that breaks lines anew when its width changes, as those of desktops do.
 */
export const hasTmux = spawnSync('tmux', ['-V'], { env: { PATH: path } }).status === 0;

export interface TmuxScreen {
  /** The lines on the screen, without the empty ones at its end. */
  lines(): readonly string[];
  resize(columns: number, rows: number): void;
  press(key: string): void;
  close(): void;
}

/** Starts a program on a terminal of tmux, which ends with the program. */
export function openTmux(
  command: readonly string[],
  size: { readonly columns: number; readonly rows: number },
): TmuxScreen {
  const folder = newFolder();
  const tmux = (...words: readonly string[]): string =>
    execFileSync('tmux', ['-L', 'heddle', '-f', '/dev/null', ...words], {
      encoding: 'utf8',
      env: { PATH: path, HOME: folder, TMUX_TMPDIR: folder, LANG: 'C.UTF-8' },
    });
  const [columns, rows] = [String(size.columns), String(size.rows)];
  tmux('new-session', '-d', '-x', columns, '-y', rows, ...command);
  return {
    lines: () => tmux('capture-pane', '-p').trimEnd().split('\n'),
    resize: (width, height) => void tmux('resize-window', '-x', String(width), '-y', String(height)),
    press: (key) => void tmux('send-keys', key),
    close: () => void tmux('kill-server'),
  };
}
