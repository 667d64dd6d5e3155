import { isUtf8 } from 'node:buffer';

/** Longest tail of a stream that a result or a failure carries, in bytes. */
const tailBytes = 2 * 1024;

/** Keeps the end of a stream of any length in constant memory. */
export class Tail {
  #bytes: Buffer<ArrayBufferLike> = Buffer.alloc(0);

  add(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    const last = chunk.subarray(-tailBytes);
    const before = this.#bytes.subarray(Math.max(0, this.#bytes.length + last.length - tailBytes));
    // Copied, so that no larger buffer is kept alive by a small part of it.
    this.#bytes = Buffer.concat([before, last]);
  }

  /**
   * Bytes that are not UTF-8 become U+FFFD, which a first line says; if the tail begins within
   * a character, that one is left out.
   */
  toString(): string {
    const begin =
      this.#bytes.length < tailBytes ? 0 : this.#bytes.findIndex((byte) => (byte & 0xc0) !== 0x80);
    const bytes = this.#bytes.subarray(Math.max(0, begin));
    const text = bytes.toString('utf8');
    return isUtf8(bytes) ? text : announceReplaced(text);
  }
}

/** Says in a first line that bytes were replaced. */
export function announceReplaced(text: string): string {
  return `[heddle: bytes that are not UTF-8 are shown as \uFFFD; the log has them]\n${text}`;
}
