import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import type { Outcome, PowerReading } from '../../model/machine/answer.js';
import { isPluginError } from '../errors.js';

/** Commands of a management controller. A refusal means that nothing was done; other failures are thrown. */
export interface PowerControls {
  read(): Promise<PowerReading>;
  on(): Promise<Told>;
  /** Asks the system to shut down; absent where that cannot be asked for. */
  readonly shutDown?: () => Promise<Told>;
  off(): Promise<Told>;
  /** Off and on in one command; absent if unsupported. */
  readonly cycle?: () => Promise<Told>;
}

export type Told = { readonly told: true } | { readonly told: false; readonly why: string };

export interface PowerLimits {
  /** Wait for a command to show, in ms. */
  readonly settleMs: number;
  /** How long a system may take to shut down before its power is cut, in ms; 0: cut at once. */
  readonly shutDownMs: number;
  /** Between two readings, in ms. */
  readonly everyMs: number;
  /** Equal readings in a row before one is believed. */
  readonly readings: number;
}

/** The fields of an account that limit power operations. */
export const powerFields = {
  settleSeconds: z.number().min(0.1).default(60),
  shutDownSeconds: z.number().min(0).default(0),
  readEveryMs: z.number().min(10).default(1_000),
} as const;

interface PowerFields {
  readonly settleSeconds: number;
  readonly shutDownSeconds: number;
  readonly readEveryMs: number;
}

export function powerLimitsOf(fields: PowerFields, readings: number): PowerLimits {
  return {
    settleMs: fields.settleSeconds * 1_000,
    shutDownMs: fields.shutDownSeconds * 1_000,
    everyMs: fields.readEveryMs,
    readings,
  };
}

const commands = 2;

/**
 * Power verbs over a controller: reads the state first, sends only necessary commands, and trusts only the
 * state read afterwards.
 */
export class PowerDriver {
  readonly #controls: PowerControls;
  readonly #limits: PowerLimits;
  readonly #signal: AbortSignal;

  constructor(controls: PowerControls, limits: PowerLimits, signal: AbortSignal) {
    this.#controls = controls;
    this.#limits = limits;
    this.#signal = signal;
  }

  /**
   * Controllers that switch slowly show the old state for a while, and a faulty one shows either: a reading
   * counts when the next ones are equal.
   */
  async status(): Promise<PowerReading> {
    const { readings, everyMs } = this.#limits;
    const first = await this.#read();
    for (let count = 1; count < readings && first.power !== 'unknown'; count += 1) {
      await this.#pause(everyMs);
      const next = await this.#read();
      if (next.power === 'unknown') return next;
      if (next.power !== first.power)
        return { power: 'unknown', why: `the controller reads ${first.power}, then ${next.power}` };
    }
    return first;
  }

  async on(): Promise<Outcome> {
    return this.#bring('on', () => this.#controls.on());
  }

  async off(): Promise<Outcome> {
    const { shutDown } = this.#controls;
    const { shutDownMs } = this.#limits;
    const now = await this.status();
    if (now.power === 'off') return { answer: 'done' };
    // A system that ignores the request, or hangs during the shutdown, is cut off after its time.
    if (
      now.power === 'on' &&
      shutDown !== undefined &&
      shutDownMs > 0 &&
      (await shutDown()).told &&
      (await this.#shows('off', shutDownMs))
    )
      return { answer: 'done' };
    return this.#bring('off', () => this.#controls.off());
  }

  /** Ends with the machine on, from wherever it was. */
  async reset(): Promise<Outcome> {
    const { power, why } = await this.status();
    if (power === 'unknown') return unknown(why);
    if (power === 'off') return this.on();
    const { cycle } = this.#controls;
    // One command does it where the controller has it; else two, each seen to its end.
    if (cycle !== undefined && (await cycle()).told)
      return (await this.#shows('on', this.#limits.settleMs)) ? { answer: 'done' } : this.on();
    const off = await this.#bring('off', () => this.#controls.off());
    return off.answer === 'done' ? this.on() : off;
  }

  /** The power is unknown while the controller does not answer; other errors need a person. */
  async #read(): Promise<PowerReading> {
    try {
      return await this.#controls.read();
    } catch (error) {
      if (isPluginError(error) && error.kind === 'Retryable') return { power: 'unknown', why: error.message };
      throw error;
    }
  }

  async #bring(wanted: 'on' | 'off', command: () => Promise<Told>): Promise<Outcome> {
    const now = await this.status();
    if (now.power === wanted) return { answer: 'done' };
    if (now.power === 'unknown') return unknown(now.why);
    let refused: string | undefined;
    let heard = false;
    for (let time = 1; time <= commands; time += 1) {
      const said = await command();
      refused = said.told ? undefined : said.why;
      heard ||= said.told;
      if (await this.#shows(wanted, refused === undefined ? this.#limits.settleMs : 0))
        return { answer: 'done' };
    }
    // What it took in before it refused may still come.
    if (refused !== undefined && !heard) return { answer: 'not done', why: refused };
    if (refused !== undefined)
      return unknown(`it was told to switch ${wanted}, then refused (${refused}), and does not read so`);
    return unknown(
      `it was told twice to switch ${wanted}, and does not read so after ${this.#limits.settleMs} ms each`,
    );
  }

  async #shows(wanted: 'on' | 'off', withinMs: number): Promise<boolean> {
    for (const end = Date.now() + withinMs; ;) {
      if ((await this.status()).power === wanted) return true;
      if (Date.now() > end) return false;
      await this.#pause(this.#limits.everyMs);
    }
  }

  async #pause(ms: number): Promise<void> {
    await pause(ms, undefined, { signal: this.#signal });
  }
}

function unknown(why = 'the controller does not say'): Outcome {
  return { answer: 'unknown', why };
}
