const keep = 32 * 1024;

/** Keeps the first and the last 32 KiB of a stream of any length in constant memory. */
export class Excerpt {
  #head: Buffer<ArrayBufferLike> = Buffer.alloc(0);
  #tail: Buffer[] = [];
  #tailLength = 0;
  #cut = 0;

  add(chunk: Buffer): void {
    const room = keep - this.#head.length;
    if (room > 0) this.#head = Buffer.concat([this.#head, chunk.subarray(0, room)]);
    const more = chunk.subarray(Math.max(room, 0));
    if (more.length === 0) return;
    // Copied, so that no larger buffer is kept alive by a small part of it.
    this.#tail.push(Buffer.from(more.subarray(-keep)));
    this.#tailLength += Math.min(more.length, keep);
    this.#cut += Math.max(more.length - keep, 0);
    if (this.#tailLength < 4 * keep) return;
    const all = Buffer.concat(this.#tail);
    this.#cut += all.length - keep;
    this.#tail = [Buffer.from(all.subarray(-keep))];
    this.#tailLength = keep;
  }

  /** So many bytes are missing here; at least 32 KiB were added before, and follow. */
  skip(bytes: number): void {
    this.#cut += bytes;
  }

  /** The text, with a line that names the omitted part. Bytes that are not UTF-8 become U+FFFD. */
  toString(): string {
    const all = Buffer.concat(this.#tail);
    const tail = all.subarray(-keep);
    const cut = this.#cut + all.length - tail.length;
    if (cut === 0) return Buffer.concat([this.#head, tail]).toString('utf8');
    // No half characters at the edges of the cut.
    const head = this.#head.subarray(0, wholeCharacters(this.#head));
    const start = tail.findIndex((byte) => (byte & 0xc0) !== 0x80);
    return `${head.toString('utf8')}\n[... ${cut} bytes omitted ...]\n${tail.subarray(Math.max(start, 0)).toString('utf8')}`;
  }
}

/** How many bytes are left when an unfinished last character is dropped. */
function wholeCharacters(bytes: Buffer): number {
  for (let back = 1; back <= 3; back++) {
    const byte = bytes.at(-back) ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const width = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return width > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}
