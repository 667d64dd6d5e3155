import { converseOnce, type Call, type Finish } from './converse.js';
import { Semaphore } from './places.js';
import { Program, type LaunchOptions } from './program.js';
import type { Workshop } from './workshop.js';

/**
 * A place for one call, and with it what is ready for the call. To be released, whether it was used or not.
 */
export interface Reservation {
  /** How long it was waited for. */
  readonly waitedMs: number;
  /** Whether it was released: a call does so at its end. */
  spent(): boolean;
  release(): void;
}

/** Carries out the calls of one plugin in programs, so many at a time. */
export interface Runner {
  /** Resolves when a call can begin at once. */
  reserve(signal: AbortSignal): Promise<Reservation>;
  /** Carries out a call in the place that is reserved for it, and releases that. */
  run(call: Call, reservation: Reservation): Promise<Finish>;
  close(): Promise<void>;
}

/** A program for each call. */
export class OneShotRunner implements Runner {
  readonly #workshop: Workshop;
  readonly #options: Omit<LaunchOptions, 'channel'>;
  readonly #places: Semaphore;
  readonly #running = new Set<Program>();

  constructor(workshop: Workshop, options: Omit<LaunchOptions, 'channel'>, processes: number) {
    this.#workshop = workshop;
    this.#options = options;
    this.#places = new Semaphore(processes);
  }

  async reserve(signal: AbortSignal): Promise<Reservation> {
    const since = Date.now();
    const leave = await this.#places.take(signal);
    let spent = false;
    const release = (): void => {
      spent = true;
      leave();
    };
    return { release, waitedMs: Date.now() - since, spent: () => spent };
  }

  async run(call: Call, reservation: Reservation): Promise<Finish> {
    const program = new Program(this.#workshop, { ...this.#options, channel: 'stdio' });
    this.#running.add(program);
    try {
      return await converseOnce(program, call);
    } finally {
      this.#running.delete(program);
      reservation.release();
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#running].map((program) => program.stop()));
  }
}
