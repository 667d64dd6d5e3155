import { setTimeout as pause } from 'node:timers/promises';
import type { RequestView } from '../../schema/output/pool.js';
import type { RequestsWanted } from '../../model/pool/contract.js';
import type { RequestsPage } from '../../model/pool/view.js';

/**
 * Wait between two queries, in ms: short at first, since many nodes are ready soon, and longer without
 * progress.
 */
const firstPollMs = 20;
const longestPollMs = 500;
/** Queries until the wait grows, and its growth per query. */
const quickPolls = 10;
const growth = 1.2;

export type ReadRequests = (wanted: RequestsWanted) => Promise<RequestsPage>;

interface Waiting {
  readonly resolve: (request: RequestView) => void;
  readonly reject: (error: unknown) => void;
}

/** Waits for many requests of one pool with one query at a time. */
export class Watch {
  readonly #read: ReadRequests;
  readonly #waiting = new Map<string, Waiting[]>();
  /** Requests that were not queried yet; the others are queried by what changed. */
  readonly #fresh = new Set<string>();
  #version: number | undefined;
  #polling = false;
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
      this.#speedUp();
      void this.#poll();
    });
  }

  /** Rejects the waits for a request. */
  forget(id: string, why: Error): void {
    for (const { reject } of this.#waiting.get(id) ?? []) reject(why);
    this.#waiting.delete(id);
  }

  #speedUp(): void {
    this.#pauseMs = firstPollMs;
    this.#quickPolls = quickPolls;
  }

  async #poll(): Promise<void> {
    if (this.#polling) return;
    this.#polling = true;
    while (this.#waiting.size > 0) {
      await pause(this.#pauseMs);
      const settled = await this.#probeOnce();
      if (settled > 0) this.#speedUp();
      else if (this.#quickPolls > 0) this.#quickPolls -= 1;
      else this.#pauseMs = Math.min(longestPollMs, this.#pauseMs * growth);
    }
    this.#version = undefined;
    this.#polling = false;
  }

  async #probeOnce(): Promise<number> {
    const before = this.#waiting.size;
    try {
      if (this.#version !== undefined && this.#waiting.size > this.#fresh.size) {
        const { version, requests } = await this.#read({ since: this.#version });
        this.#take(requests);
        this.#version = version;
      }
      if (this.#fresh.size > 0) await this.#queryFresh([...this.#fresh]);
    } catch (error) {
      for (const id of [...this.#waiting.keys()]) this.#settle(id, ({ reject }) => reject(error));
    }
    return before - this.#waiting.size;
  }

  /** Queries by id: the requests may have changed before the last known change. */
  async #queryFresh(ids: readonly string[]): Promise<void> {
    const { version, requests } = await this.#read({ ids });
    this.#version ??= version;
    for (const id of ids) this.#fresh.delete(id);
    this.#take(requests);
    const known = new Set(requests.map(({ id }) => id));
    for (const id of ids.filter((asked) => !known.has(asked)))
      this.#settle(id, ({ reject }) => reject(new Error(`the pool has no request ${id}`)));
  }

  #take(requests: readonly RequestView[]): void {
    for (const request of requests) {
      if (request.state !== 'requested' && request.state !== 'pending')
        this.#settle(request.id, ({ resolve }) => resolve(request));
    }
  }

  #settle(id: string, settle: (waiting: Waiting) => void): void {
    for (const waiting of this.#waiting.get(id) ?? []) settle(waiting);
    this.#waiting.delete(id);
    this.#fresh.delete(id);
  }
}
