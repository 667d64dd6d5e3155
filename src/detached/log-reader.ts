import { open } from 'node:fs/promises';

const chunkBytes = 65_536;

/** Reads the lines of a file that grows. */
export class LogReader {
  /** The last line that is not blank, also if it is incomplete. */
  last = '';
  readonly #file: string;
  #read = 0;
  #rest = '';

  constructor(file: string) {
    this.#file = file;
  }

  /** The next complete lines, without blank ones. */
  async lines(): Promise<readonly string[]> {
    const handle = await open(this.#file, 'r').catch(() => undefined);
    if (handle === undefined) return [];
    try {
      const { buffer, bytesRead } = await handle.read({
        buffer: Buffer.alloc(chunkBytes),
        position: this.#read,
      });
      this.#read += bytesRead;
      const parts = (this.#rest + buffer.subarray(0, bytesRead).toString('utf8')).split('\n');
      this.#rest = (parts.pop() ?? '').slice(-2_000);
      const lines = parts.map((line) => line.trim()).filter((line) => line !== '');
      this.last = (this.#rest.trim() || lines.at(-1) || this.last).slice(-300);
      return lines;
    } finally {
      await handle.close();
    }
  }
}
