import { Excerpt } from './excerpt.js';
import type { Frame } from './frames.js';
import { largestResult } from './results.js';
import type { OutputListener, RunEnd, RunOptions } from './run-options.js';

/** The known progress of a run; survives connections. */
export class RunProgress {
  readonly #onOutput: OutputListener | undefined;
  readonly #onNote: RunOptions['onNote'];
  readonly #notes = new Set<string>();
  readonly #stdout = new Excerpt();
  readonly #stderr = new Excerpt();
  #result: Buffer[] = [];
  /** How many bytes of each stream have come. */
  outat = 0;
  errat = 0;
  /** Rises whenever something came. */
  signs = 0;
  /** Its output is being reported. */
  reported = false;
  /** The node said that the run was claimed: it must not be sent again. */
  #claimed: boolean;
  readonly #onClaim: RunOptions['onClaim'];

  constructor({
    onOutput,
    onNote,
    onClaim,
    claimed = false,
  }: Pick<RunOptions, 'onOutput' | 'onNote' | 'onClaim' | 'claimed'>) {
    this.#onOutput = onOutput;
    this.#onNote = onNote;
    this.#onClaim = onClaim;
    this.#claimed = claimed;
  }

  get claimed(): boolean {
    return this.#claimed;
  }

  claim(): void {
    if (this.#claimed) return;
    this.#claimed = true;
    this.#onClaim?.();
  }

  /** The node gave the claim back: nothing was started. */
  release(): void {
    this.#claimed = false;
  }

  /** Every connection reports all notes; the listener gets each once. */
  note(text: string): void {
    if (this.#notes.has(text)) return;
    this.#notes.add(text);
    this.#onNote?.(text);
  }

  /** A new connection begins; a result file is always read whole. */
  rewindResult(): void {
    this.#result = [];
  }

  async add(frame: Extract<Frame, { kind: 'output' }>): Promise<void> {
    this.signs++;
    this.reported = true;
    this.claim();
    if (frame.stream === 'result') {
      // A node may send any amount; output over the limit is only counted.
      const held = this.#result.reduce((sum, { length }) => sum + length, 0);
      if (held <= largestResult)
        this.#result.push(Buffer.from(frame.chunk.subarray(0, largestResult + 1 - held)));
      return;
    }
    if (frame.stream === 'stdout') {
      this.outat += frame.chunk.length;
      this.#stdout.add(frame.chunk);
    } else {
      this.errat += frame.chunk.length;
      this.#stderr.add(frame.chunk);
    }
    await this.#onOutput?.(frame.stream, frame.chunk);
  }

  /** The node has not kept so many bytes of a stream, `o` or `e`. */
  skip(stream: string, words: string): void {
    const bytes = Number(words);
    if (!Number.isSafeInteger(bytes) || bytes < 0) return;
    if (stream === 'o') {
      this.outat += bytes;
      this.#stdout.skip(bytes);
    } else {
      this.errat += bytes;
      this.#stderr.skip(bytes);
    }
  }

  end(reason: RunEnd['reason'], exitCode: number | undefined): RunEnd {
    return {
      reason,
      exitCode,
      stdout: this.#stdout.toString(),
      stderr: this.#stderr.toString(),
      result: Buffer.concat(this.#result),
    };
  }
}
