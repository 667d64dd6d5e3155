import { setTimeout as pause } from 'node:timers/promises';
import type { Outcome, PowerReading } from '../../model/machine/answer.js';
import { isPluginError, PluginError } from '../errors.js';

/**
 * Commands of a management controller. A rejection means that nothing was done; other failures are thrown.
 */
export interface PowerControls {
  read(): Promise<PowerReading>;
  on(): Promise<CommandResult>;
  /** Asks the system to shut down; absent if unsupported. */
  readonly shutDown?: () => Promise<CommandResult>;
  off(): Promise<CommandResult>;
  /** Switches off and on in one command; absent if unsupported. */
  readonly cycle?: () => Promise<CommandResult>;
}

/**
 * `why` of a command that was sent: the error of the controller, which may still have accepted the command.
 */
export type CommandResult =
  | { readonly accepted: true; readonly why?: string }
  | { readonly accepted: false; readonly why: string };

export interface PowerLimits {
  /** Timeout for a command to take effect, in ms. */
  readonly settleMs: number;
  /** Time for a system to shut down before its power is cut, in ms; 0 cuts it immediately. */
  readonly shutDownMs: number;
  /** Interval between readings, in ms. */
  readonly everyMs: number;
  /** Number of equal consecutive readings that confirm a state. */
  readonly readings: number;
}

/** The fields of an account that limit power operations. */
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
 * Number of readings without a state, or contradicting the previous one, after which the power is unknown.
 */
const spoiledReadings = 2;

/**
 * Power methods for a controller: reads the state first, sends only necessary commands, and trusts only the
 * state that is read afterwards.
 */
export class PowerDriver {
  readonly #controls: PowerControls;
  readonly #limits: PowerLimits;
  readonly #signal: AbortSignal;
  /** The last error of the controller. */
  #trouble: string | undefined;

  constructor(controls: PowerControls, limits: PowerLimits, signal: AbortSignal) {
    this.#controls = controls;
    this.#limits = limits;
    this.#signal = signal;
  }

  /**
   * Slow controllers show the old state for a while, and a faulty one shows either, so a reading counts if
   * the next ones are equal. A reading without a state is repeated, and so is the whole sequence if readings
   * differ.
   */
  async status(): Promise<PowerReading> {
    const { readings, everyMs } = this.#limits;
    let last: PowerReading | undefined;
    let equal = 0;
    let why: string | undefined;
    for (let spoiled = 0; ; await this.#pause(everyMs)) {
      const next = await this.#read();
      if (next.power === 'unknown') why = next.why;
      else if (last !== undefined && last.power !== next.power)
        why = `the controller reads ${last.power}, then ${next.power}`;
      if (next.power === 'unknown' || (last !== undefined && last.power !== next.power)) spoiled += 1;
      if (spoiled > spoiledReadings) return { power: 'unknown', ...(why === undefined ? {} : { why }) };
      equal = next.power === last?.power ? equal + 1 : 1;
      last = next.power === 'unknown' ? undefined : next;
      if (last !== undefined && equal >= readings) return next;
    }
  }

  async on(): Promise<Outcome> {
    return this.#inTime(() => this.#bring('on', () => this.#controls.on()));
  }

  async off(): Promise<Outcome> {
    return this.#inTime(() => this.#switchOff());
  }

  /** Switches the machine on, whatever its state. */
  async reset(): Promise<Outcome> {
    return this.#inTime(() => this.#restart());
  }

  /** After a timeout the last error of the controller is the cause. */
  async #inTime(work: () => Promise<Outcome>): Promise<Outcome> {
    try {
      return await work();
    } catch (error) {
      const isFinal = isPluginError(error) && error.kind !== 'Retryable';
      if (!this.#signal.aborted || this.#trouble === undefined || isFinal) throw error;
      throw new PluginError('Retryable', `it timed out${this.#lastTrouble()}`, { cause: error });
    }
  }

  async #switchOff(): Promise<Outcome> {
    const { shutDown } = this.#controls;
    const { shutDownMs } = this.#limits;
    const now = await this.status();
    if (now.power === 'off') return { answer: 'done' };
    // A system that ignores the request, or hangs during the shutdown, is switched off after its timeout.
    if (
      now.power === 'on' &&
      shutDown !== undefined &&
      shutDownMs > 0 &&
      (await this.#send(shutDown)).accepted &&
      (await this.#shows('off', shutDownMs))
    )
      return { answer: 'done' };
    return this.#bring('off', () => this.#controls.off());
  }

  async #restart(): Promise<Outcome> {
    const { power, why } = await this.status();
    if (power === 'unknown') return unknown(why);
    if (power === 'off') return this.on();
    const { cycle } = this.#controls;
    // Uses one command if the controller supports it, otherwise two, and waits for each.
    if (cycle !== undefined && (await this.#send(cycle)).accepted)
      return (await this.#shows('on', this.#limits.settleMs)) ? { answer: 'done' } : this.on();
    const off = await this.#bring('off', () => this.#controls.off());
    return off.answer === 'done' ? this.on() : off;
  }

  /** The power is unknown while the controller does not answer; other errors need a user. */
  async #read(): Promise<PowerReading> {
    try {
      const reading = await this.#controls.read();
      if (reading.power === 'unknown') this.#note(reading.why);
      return reading;
    } catch (error) {
      if (!isPluginError(error) || error.kind !== 'Retryable') throw error;
      this.#note(error.message);
      return { power: 'unknown', why: error.message };
    }
  }

  async #send(command: () => Promise<CommandResult>): Promise<CommandResult> {
    const result = await command();
    this.#note(result.why);
    return result;
  }

  #note(trouble: string | undefined): void {
    // An interruption is not an error of the controller.
    if (!this.#signal.aborted && trouble !== undefined) this.#trouble = trouble;
  }

  #lastTrouble(): string {
    return this.#trouble === undefined ? '' : `; the last error was: ${this.#trouble}`;
  }

  async #bring(wanted: 'on' | 'off', command: () => Promise<CommandResult>): Promise<Outcome> {
    const now = await this.status();
    if (now.power === wanted) return { answer: 'done' };
    if (now.power === 'unknown') return unknown(now.why);
    let refused: string | undefined;
    let wasAccepted = false;
    for (let time = 1; time <= commands; time += 1) {
      const said = await this.#send(command);
      refused = said.accepted ? undefined : said.why;
      wasAccepted ||= said.accepted;
      if (await this.#shows(wanted, refused === undefined ? this.#limits.settleMs : 0))
        return { answer: 'done' };
    }
    // A command that it accepted before the rejection may still take effect.
    if (refused !== undefined && !wasAccepted) return { answer: 'not done', why: refused };
    if (refused !== undefined)
      return unknown(
        `it accepted one command to switch ${wanted} and refused the next (${refused}), and its power is not ${wanted}`,
      );
    return unknown(
      `it accepted two commands to switch ${wanted}, and its power was not ${wanted} ${this.#limits.settleMs} ms after each${this.#lastTrouble()}`,
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

function unknown(why = 'the controller gave no reason'): Outcome {
  return { answer: 'unknown', why };
}
