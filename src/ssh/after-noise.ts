import type { Readable } from 'node:stream';
import { Excerpt } from './excerpt.js';

export interface ContentListener {
  /** The other words of the line that ends the noise. */
  readonly onBegin?: ((words: readonly string[]) => void) | undefined;
  /** The stream is read no faster than this settles. */
  readonly onChunk: (chunk: Buffer) => Promise<void> | void;
}

/**
 * Reads a stream whose content begins after a line with the nonce; the login shell's noise precedes it.
 * Resolves at the end of the stream. `begun` is false if there was no such line.
 */
export function readAfterNoise(
  stream: Readable,
  nonce: string,
  { onBegin, onChunk }: ContentListener,
): Promise<{ readonly noise: string; readonly begun: boolean }> {
  const mark = Buffer.from(`\n${nonce}`);
  const noise = new Excerpt();
  let begun = false;
  let held: Buffer<ArrayBufferLike> = Buffer.alloc(0);
  const pass = (chunk: Buffer): void => {
    const settled = chunk.length === 0 ? undefined : onChunk(chunk);
    if (settled === undefined) return;
    stream.pause();
    void settled.finally(() => stream.resume());
  };
  stream.on('data', (chunk: Buffer) => {
    if (begun) return pass(chunk);
    held = Buffer.concat([held, chunk]);
    const at = held.indexOf(mark);
    const end = at < 0 ? -1 : held.indexOf(10, at + mark.length);
    if (end >= 0) {
      begun = true;
      onBegin?.(
        held
          .toString('latin1', at + mark.length, end)
          .trim()
          .split(' '),
      );
      return pass(held.subarray(end + 1));
    }
    if (at >= 0) return;
    const known = Math.max(held.length - mark.length, 0);
    noise.add(held.subarray(0, known));
    held = held.subarray(known);
  });
  return new Promise((resolve) => {
    stream.once('end', () => {
      if (!begun) noise.add(held);
      resolve({ noise: noise.toString(), begun });
    });
  });
}
