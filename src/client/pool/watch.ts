import { setTimeout as pause } from 'node:timers/promises';
import type { RequestsWanted } from '../../model/pool/messages.js';
import type { RequestsPage, RequestView } from '../../model/pool/view.js';

/** Wait between two looks, in ms: short at first, since many nodes are there soon, and longer when nothing happens. */
const firstPollMs = 20;
const longestPollMs = 500;
/** Looks until the wait grows, and by how much with each. */
const quickPolls = 10;
const growth = 1.2;

export type ReadRequests = (wanted: RequestsWanted) => Promise<RequestsPage>;

interface Waiting {
  readonly resolve: (request: RequestView) => void;
  readonly reject: (error: unknown) => void;
}

/** Waits for many requests of one pool with one question at a time. */
export class Watch {
  readonly #read: ReadRequests;
  readonly #waiting = new Map<string, Waiting[]>();
  /** Requests that were not queried yet; the others are queried by what changed. */
  readonly #fresh = new Set<string>();
  #version: number | undefined;
  #looking = false;
  #pauseMs = firstPollMs;
  #quickPolls = quickPolls;

  constructor(read: ReadRequests) {
    this.#read = read;
  }

  /** Resolves when the request is fulfilled, has failed, or is over. */
  wait(id: string): Promise<RequestView> {
    return new Promise<RequestView>((resolve, reject) => {
      this.#waiting.set(id, [...(this.#waiting.get(id) ?? []), { resolve, reject }]);
      this.#fresh.add(id);
      this.#lookSoon();
      void this.#keepLooking();
    });
  }

  /** Rejects the waits for a request. */
  forget(id: string, why: Error): void {
    for (const { reject } of this.#waiting.get(id) ?? []) reject(why);
    this.#waiting.delete(id);
  }

  #lookSoon(): void {
    this.#pauseMs = firstPollMs;
    this.#quickPolls = quickPolls;
  }

  async #keepLooking(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    while (this.#waiting.size > 0) {
      await pause(this.#pauseMs);
      const settled = await this.#probeOnce();
      if (settled > 0) this.#lookSoon();
      else if (this.#quickPolls > 0) this.#quickPolls -= 1;
      else this.#pauseMs = Math.min(longestPollMs, this.#pauseMs * growth);
    }
    this.#version = undefined;
    this.#looking = false;
  }

  async #probeOnce(): Promise<number> {
    const before = this.#waiting.size;
    try {
      if (this.#version !== undefined && this.#waiting.size > this.#fresh.size) {
        const { version, requests } = await this.#read({ since: this.#version });
        this.#take(requests);
        this.#version = version;
      }
      if (this.#fresh.size > 0) await this.#lookAtFresh([...this.#fresh]);
    } catch (error) {
      for (const id of [...this.#waiting.keys()]) this.#settle(id, ({ reject }) => reject(error));
    }
    return before - this.#waiting.size;
  }

  /** By their ids: they may have changed before the last change that is known. */
  async #lookAtFresh(ids: readonly string[]): Promise<void> {
    const { version, requests } = await this.#read({ ids });
    this.#version ??= version;
    for (const id of ids) this.#fresh.delete(id);
    this.#take(requests);
    const known = new Set(requests.map(({ id }) => id));
    for (const id of ids.filter((asked) => !known.has(asked)))
      this.#settle(id, ({ reject }) => reject(new Error(`the pool does not know request ${id}`)));
  }

  #take(requests: readonly RequestView[]): void {
    for (const request of requests) {
      if (request.state !== 'requested' && request.state !== 'pending')
        this.#settle(request.id, ({ resolve }) => resolve(request));
    }
  }

  #settle(id: string, tell: (waiting: Waiting) => void): void {
    for (const waiting of this.#waiting.get(id) ?? []) tell(waiting);
    this.#waiting.delete(id);
    this.#fresh.delete(id);
  }
}
