/**
 * Cuts a stream of bytes into lines; a piece that may be the start of a line is kept until the rest comes.
 */
export class LineSplitter {
  readonly #onLine: (line: string) => void;
  readonly #maxBytes: number;
  #pieces: Buffer[] = [];
  #held = 0;

  constructor(maxBytes: number, onLine: (line: string) => void) {
    this.#maxBytes = maxBytes;
    this.#onLine = onLine;
  }

  /** False when a line is longer than allowed; nothing may be pushed after that. */
  push(chunk: Buffer): boolean {
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      if (this.#held + end - start > this.#maxBytes) return false;
      this.#pieces.push(chunk.subarray(start, end));
      this.#give();
      start = end + 1;
    }
    if (start < chunk.length) {
      this.#pieces.push(chunk.subarray(start));
      this.#held += chunk.length - start;
    }
    return this.#held <= this.#maxBytes;
  }

  /** Gives the last line, where no line feed ended it. */
  end(): void {
    if (this.#held > 0) this.#give();
  }

  #give(): void {
    const line = Buffer.concat(this.#pieces).toString('utf8');
    this.#pieces = [];
    this.#held = 0;
    this.#onLine(line.endsWith('\r') ? line.slice(0, -1) : line);
  }
}
