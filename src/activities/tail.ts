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
   * Bytes that are no UTF-8 become U+FFFD; where the tail begins within a character, that one is left out.
   */
  toString(): string {
    const begin =
      this.#bytes.length < tailBytes ? 0 : this.#bytes.findIndex((byte) => (byte & 0xc0) !== 0x80);
    return this.#bytes.toString('utf8', Math.max(0, begin));
  }
}
