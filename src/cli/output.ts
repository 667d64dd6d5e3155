import { styleText } from 'node:util';
import { cleanJson } from './clean-text.js';

export type Style = Parameters<typeof styleText>[0];

/** Where a verb writes: for people, or JSON for programs. */
export interface Output {
  readonly json: boolean;
  /** Standard output is a terminal for people. */
  readonly live: boolean;
  /** Width of that terminal. */
  readonly columns?: number;
  /** For people on standard output; nothing with --json. The text must be clean. */
  line(text?: string): void;
  /** One JSON document on standard output; nothing without --json. */
  document(value: unknown): void;
  /** One line of a stream of JSON; nothing without --json. */
  record(value: unknown): void;
  /** For people on standard error, with --json too. */
  note(text: string): void;
  /** Colours text where standard output shows colours. */
  style(style: Style, text: string): string;
}

export function createOutput(options: { readonly json?: boolean }): Output {
  const { stdout, stderr } = process;
  const json = options.json === true;
  // The stream knows of NO_COLOR, FORCE_COLOR and dumb terminals.
  const colours = !json && stdout.isTTY && stdout.hasColors();
  return {
    json,
    live: !json && stdout.isTTY,
    ...(!json && stdout.isTTY ? { columns: stdout.columns } : {}),
    line(text = '') {
      if (!json) stdout.write(`${text}\n`);
    },
    document(value) {
      if (json) stdout.write(`${cleanJson(value, 2)}\n`);
    },
    record(value) {
      if (json) stdout.write(`${cleanJson(value)}\n`);
    },
    note(text) {
      stderr.write(`${text}\n`);
    },
    style: (style, text) => (colours ? styleText(style, text, { validateStream: false }) : text),
  };
}
