import { setTimeout as pause } from 'node:timers/promises';
import type { RequestView } from '../../model/pool/view.js';

/** Wait between two looks, in ms: short at first, for a warm node is there at once, and longer when nothing happens. */
const firstLookMs = 30;
const lastLookMs = 500;

export type Look = (ids: readonly string[]) => Promise<readonly RequestView[]>;

interface Waiting {
  readonly resolve: (request: RequestView) => void;
  readonly reject: (error: unknown) => void;
}

/** Waits for many requests of one pool with one question at a time. */
export class Watch {
  readonly #look: Look;
  readonly #waiting = new Map<string, Waiting[]>();
  #looking = false;
  #pauseMs = firstLookMs;

  constructor(look: Look) {
    this.#look = look;
  }

  /** Resolves when the request is fulfilled, has failed, or is over. */
  wait(id: string): Promise<RequestView> {
    return new Promise<RequestView>((resolve, reject) => {
      this.#waiting.set(id, [...this.#waiting.get(id) ?? [], { resolve, reject }]);
      this.#pauseMs = firstLookMs;
      void this.#keepLooking();
    });
  }

  /** Nobody waits for it any more. */
  forget(id: string, why: Error): void {
    for (const { reject } of this.#waiting.get(id) ?? []) reject(why);
    this.#waiting.delete(id);
  }

  async #keepLooking(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    while (this.#waiting.size > 0) {
      await pause(this.#pauseMs);
      const settled = await this.#lookOnce();
      this.#pauseMs = settled > 0 ? firstLookMs : Math.min(lastLookMs, this.#pauseMs * 1.5);
    }
    this.#looking = false;
  }

  async #lookOnce(): Promise<number> {
    const ids = [...this.#waiting.keys()];
    try {
      const requests = await this.#look(ids);
      const over = requests.filter(({ state }) => state !== 'requested' && state !== 'pending');
      for (const request of over) this.#settle(request.id, ({ resolve }) => resolve(request));
      const known = new Set(requests.map(({ id }) => id));
      for (const id of ids.filter((asked) => !known.has(asked))) this.#settle(id, ({ reject }) => reject(new Error(`the pool does not know request ${id}`)));
      return over.length;
    } catch (error) {
      for (const id of ids) this.#settle(id, ({ reject }) => reject(error));
      return ids.length;
    }
  }

  #settle(id: string, tell: (waiting: Waiting) => void): void {
    for (const waiting of this.#waiting.get(id) ?? []) tell(waiting);
    this.#waiting.delete(id);
  }
}
