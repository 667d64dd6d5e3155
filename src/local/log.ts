export type LogLevel = 'debug' | 'info' | 'warn' | 'error';
const ranks: Readonly<Record<LogLevel, number>> = { debug: 20, info: 30, warn: 40, error: 50 };

export type Attributes = Readonly<Record<string, unknown>>;

/** Writes JSON lines to stderr; stdout is kept for the one line that tells the address. */
export class Log {
  readonly #rank: number;

  constructor(level: LogLevel) {
    this.#rank = ranks[level];
  }

  debug(message: string, attributes?: Attributes): void {
    this.#write('debug', message, attributes);
  }
  info(message: string, attributes?: Attributes): void {
    this.#write('info', message, attributes);
  }
  warn(message: string, attributes?: Attributes): void {
    this.#write('warn', message, attributes);
  }
  error(message: string, attributes?: Attributes): void {
    this.#write('error', message, attributes);
  }

  /** Written whatever the level: a person asked for it by signal. */
  dump(message: string, attributes: Attributes): void {
    this.#line('debug', message, attributes);
  }

  #write(level: LogLevel, message: string, attributes: Attributes | undefined): void {
    if (ranks[level] >= this.#rank) this.#line(level, message, attributes);
  }

  #line(level: LogLevel, message: string, attributes: Attributes | undefined): void {
    process.stderr.write(
      `${JSON.stringify({ time: new Date().toISOString(), level, name: 'heddle.local', message, ...attributes })}\n`,
    );
  }
}
