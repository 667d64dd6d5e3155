import type { JsonObject } from '../model/json.js';
import type { PluginLog } from './plugin-log.js';

/**
 * Which key has which machine of one provider account, kept durably by the engine and the same on all
 * workers. Each call is atomic and may be repeated: a key has at most one machine, a machine at most one key.
 */
export interface Claims {
  /**
   * Gives the machine that the key has already, else the first of the candidates that nobody has; undefined
   * when all are taken.
   */
  take(key: string, candidates: readonly string[]): Promise<string | undefined>;
  /** Frees what the key has; nothing when it has nothing. */
  release(key: string): Promise<void>;
  /** Every claimed machine, with the key that has it. */
  held(): Promise<Readonly<Record<string, string>>>;
}

/** How often a provider account may be called, over all workers: `limits.callsPerSecond` in heddle.yaml. */
export interface Calls {
  /**
   * To be waited for before each call of the account's API; at once where there is no limit. Rejects when the
   * task's signal is aborted.
   */
  take(): Promise<void>;
}

/** What the static `start` of a plugin's class gets. */
export interface ClientAccount {
  /** The provider account's name; of an automator its own. */
  readonly name: string;
  /**
   * The administrator's fields, defaults filled in, secrets resolved; users' values over those that they may
   * set.
   */
  readonly fields: JsonObject;
  readonly log: PluginLog;
  /** Aborted when starting takes too long, or the worker ends. */
  readonly signal: AbortSignal;
}
