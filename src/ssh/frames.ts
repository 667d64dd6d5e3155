import { printable } from './printable.js';

/**
 * What a remote program prints: its own lines, split into words, and stretches of raw output between them.
 */
export type Frame =
  | { readonly kind: 'line'; readonly words: readonly string[] }
  | { readonly kind: 'output'; readonly stream: 'stdout' | 'stderr' | 'result'; readonly chunk: Buffer };

type Stream = Extract<Frame, { kind: 'output' }>['stream'];

/** Output of a given length follows. */
const measured: ReadonlyMap<string, Stream> = new Map([
  ['o', 'stdout'],
  ['e', 'stderr'],
]);
/** Output follows up to the next line that begins with the nonce. */
const unmeasured: ReadonlyMap<string, Stream> = new Map([
  ['O', 'stdout'],
  ['E', 'stderr'],
  ['R', 'result'],
]);
const longestLine = 16 * 1024;
/** How much a login shell may print before our first line. */
const longestNoise = 1024 * 1024;

/**
 * Reads frames from a channel. Our lines begin with the nonce, which only we and the remote program know;
 * text before the first such line is the login shell's output and is dropped. Ends without error when the
 * connection does.
 * @throws Error if the stream does not match the protocol.
 */
export async function* readFrames(
  source: AsyncIterable<Buffer>,
  nonce: string,
): AsyncGenerator<Frame, void, undefined> {
  let rest: Buffer<ArrayBufferLike> = Buffer.alloc(0);
  let noise = 0;
  let seen = false;
  let stream: Stream = 'stdout';
  let pending = 0;
  let isOpen = false;
  const mark = Buffer.from(`\n${nonce} `);
  for await (const chunk of source) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    while (rest.length > 0) {
      if (isOpen) {
        const end = rest.indexOf(mark);
        // A mark may be cut into two chunks.
        const known = end < 0 ? Math.max(rest.length - mark.length + 1, 0) : end;
        if (known > 0) yield { kind: 'output', stream, chunk: rest.subarray(0, known) };
        rest = rest.subarray(end < 0 ? known : end + 1);
        isOpen = end < 0;
        if (isOpen) break;
        continue;
      }
      if (pending > 0) {
        const piece = rest.subarray(0, pending);
        rest = rest.subarray(piece.length);
        pending -= piece.length;
        yield { kind: 'output', stream, chunk: piece };
        continue;
      }
      const end = rest.indexOf(10);
      if (end < 0) break;
      const line = rest.toString('utf8', 0, end);
      rest = rest.subarray(end + 1);
      if (!line.startsWith(`${nonce} `)) {
        noise += line.length + 1;
        if (seen || noise > longestNoise)
          throw new Error(`unexpected output of the node: ${printable(line.slice(0, 200))}`);
        continue;
      }
      seen = true;
      // Words of our own programs, which may quote output of the node's commands.
      const words = printable(line.slice(nonce.length + 1)).split(' ');
      const [kind = ''] = words;
      isOpen = unmeasured.has(kind);
      const named = unmeasured.get(kind) ?? measured.get(kind);
      if (named === undefined) {
        yield { kind: 'line', words };
        continue;
      }
      stream = named;
      if (isOpen) continue;
      pending = Number(words[1]);
      if (!Number.isSafeInteger(pending) || pending < 0)
        throw new Error(`unexpected output of the node: ${words.join(' ')}`);
    }
    if (pending === 0 && !isOpen && rest.length > (seen ? longestLine : longestNoise))
      throw new Error('the node sends a line without end');
  }
}
