/**
 * Finds all occurrences of many patterns in one pass (Aho and Corasick, 1975). The work per byte does not
 * depend on the patterns.
 */
export class Automaton {
  /** Transitions of the root by byte: text without patterns is almost always in this state. */
  readonly #fromRoot = new Int32Array(256);
  /** Children of a state form a list, at most one for each byte. */
  readonly #firstChild: Int32Array;
  readonly #nextSibling: Int32Array;
  readonly #byte: Uint8Array;
  /** The state of the longest proper suffix that begins a pattern. */
  readonly #fallback: Int32Array;
  readonly #depth: Int32Array;
  readonly #longest: Int32Array;
  #states = 1;

  constructor(patterns: readonly Uint8Array[]) {
    const size = 1 + patterns.reduce((sum, pattern) => sum + pattern.length, 0);
    [this.#firstChild, this.#nextSibling, this.#fallback, this.#depth, this.#longest] = [
      new Int32Array(size),
      new Int32Array(size),
      new Int32Array(size),
      new Int32Array(size),
      new Int32Array(size),
    ];
    this.#byte = new Uint8Array(size);
    for (const pattern of patterns) this.#add(pattern);
    this.#linkFallbacks();
  }

  /** Number of the last read bytes that may begin a pattern. */
  depthOf(state: number): number {
    return this.#depth[state] ?? 0;
  }

  /**
   * Reads bytes from a state on; 0 is the first. Calls `found` with the end offset and length of the longest
   * pattern that ends there. Returns the state reached and the number of steps.
   */
  read(
    bytes: Uint8Array,
    from: number,
    found: (end: number, length: number) => void,
  ): { readonly state: number; readonly steps: number } {
    let state = from;
    let steps = 0;
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at] ?? 0;
      for (;;) {
        steps += 1;
        if (state === 0) {
          state = this.#fromRoot[byte] ?? 0;
          break;
        }
        let child = this.#firstChild[state] ?? 0;
        for (; child !== 0 && this.#byte[child] !== byte; steps += 1) child = this.#nextSibling[child] ?? 0;
        if (child !== 0) {
          state = child;
          break;
        }
        state = this.#fallback[state] ?? 0;
      }
      const length = this.#longest[state] ?? 0;
      if (length > 0) found(at + 1, length);
    }
    return { state, steps };
  }

  #add(pattern: Uint8Array): void {
    let state = 0;
    for (const byte of pattern) state = this.#childOf(state, byte) || this.#addChild(state, byte);
    if (state !== 0) this.#longest[state] = pattern.length;
  }

  #childOf(state: number, byte: number): number {
    if (state === 0) return this.#fromRoot[byte] ?? 0;
    let child = this.#firstChild[state] ?? 0;
    while (child !== 0 && this.#byte[child] !== byte) child = this.#nextSibling[child] ?? 0;
    return child;
  }

  #addChild(parent: number, byte: number): number {
    const child = this.#states;
    this.#states += 1;
    this.#byte[child] = byte;
    this.#depth[child] = this.depthOf(parent) + 1;
    if (parent === 0) this.#fromRoot[byte] = child;
    this.#nextSibling[child] = this.#firstChild[parent] ?? 0;
    this.#firstChild[parent] = child;
    return child;
  }

  /** In order of depth, so that the fallback of each parent is known before those of its children. */
  #linkFallbacks(): void {
    const queue = new Int32Array(this.#states);
    let end = 1;
    for (let next = 0; next < end; next += 1) {
      const parent = queue[next] ?? 0;
      for (let child = this.#firstChild[parent] ?? 0; child !== 0; child = this.#nextSibling[child] ?? 0) {
        queue[end] = child;
        end += 1;
        if (parent === 0) continue;
        const byte = this.#byte[child] ?? 0;
        let fallback = this.#fallback[parent] ?? 0;
        while (fallback !== 0 && this.#childOf(fallback, byte) === 0)
          fallback = this.#fallback[fallback] ?? 0;
        fallback = this.#childOf(fallback, byte);
        this.#fallback[child] = fallback;
        if (this.#longest[child] === 0) this.#longest[child] = this.#longest[fallback] ?? 0;
      }
    }
  }
}
