import { styleText } from 'node:util';
import { outputVersion } from '../schema/output/version.js';
import { cleanJson, cleanLine } from './clean-text.js';
import { cutTo, formatTable } from './table.js';

export type Style = Parameters<typeof styleText>[0];

export interface OutputOptions {
  readonly json?: boolean;
}

/** Standard output and standard error of a verb: for people, or JSON for programs. */
export class Output {
  readonly json: boolean;
  /** Standard output is a terminal for people. */
  readonly live: boolean;
  /** Width of that terminal. */
  readonly columns: number | undefined;
  readonly #colours: boolean;

  constructor({ json = false }: OutputOptions) {
    const { stdout } = process;
    this.json = json;
    this.live = !json && stdout.isTTY;
    this.columns = this.live ? stdout.columns : undefined;
    // The stream respects NO_COLOR, FORCE_COLOR and dumb terminals.
    this.#colours = this.live && stdout.hasColors();
  }

  /** One line for people, cleaned of control characters; nothing with --json. */
  line(text = '', style?: Style): void {
    const clean = cleanLine(text);
    this.raw(style === undefined ? clean : this.style(style, clean));
  }

  /** Each line of a text. */
  lines(text: string, style?: Style): void {
    for (const line of text.split('\n')) this.line(line, style);
  }

  /** A line that is clean already, and may hold styles. */
  raw(text: string): void {
    if (!this.json) this.write(`${text}\n`);
  }

  /** Rows below a bold head, cut to the terminal's width with `cut`. */
  table(
    head: readonly string[],
    rows: readonly (readonly string[])[],
    {
      styleOf,
      cut = false,
    }: { readonly styleOf?: (row: number) => Style | undefined; readonly cut?: boolean } = {},
  ): void {
    const [first = '', ...lines] = formatTable(head, rows);
    const fit = (line: string): string => (cut ? this.fit(line) : line);
    this.line(fit(first), 'bold');
    lines.forEach((line, row) => this.line(fit(line), styleOf?.(row)));
  }

  /** Cuts a line to the terminal's width; the last column stays free. */
  fit(line: string): string {
    return this.columns === undefined ? line : cutTo(line, this.columns - 1);
  }

  /** One JSON document on standard output; nothing without --json. */
  document(value: object): void {
    if (this.json) this.write(`${cleanJson({ schemaVersion: outputVersion, ...value }, 2)}\n`);
  }

  /** One line of a stream of JSON; nothing without --json. */
  record(value: object): void {
    if (this.json) this.write(`${cleanJson({ schemaVersion: outputVersion, ...value })}\n`);
  }

  /** A clean text for people on standard error, with --json too. */
  note(text: string): void {
    process.stderr.write(`${text}\n`);
  }

  /** Colours text where standard output shows colours. */
  style(style: Style, text: string): string {
    return this.#colours ? styleText(style, text, { validateStream: false }) : text;
  }

  protected write(text: string): void {
    process.stdout.write(text);
  }
}

export function createOutput(options: OutputOptions): Output {
  return new Output(options);
}
