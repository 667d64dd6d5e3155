import { createHash } from 'node:crypto';
import { PluginError } from '../errors.js';

/** Pause after the first rejected login, in ms; doubles with each further one. */
const firstPauseMs = 30_000;
const longestPauseMs = 15 * 60_000;

interface Refusal {
  readonly times: number;
  /** The login is not retried before this time. */
  readonly until: number;
  readonly message: string;
}

/**
 * Logins that controllers rejected, by a digest of controller and credentials: changed credentials are tried
 * at once.
 */
const refusals = new Map<string, Refusal>();

/**
 * A login at a controller. Controllers lock accounts, so a rejected login is retried after increasing pauses.
 */
export class ControllerLogin {
  readonly #key: string;

  constructor(...credentials: readonly (string | number | undefined)[]) {
    this.#key = createHash('sha256').update(JSON.stringify(credentials)).digest('hex');
  }

  /** @throws PluginError Auth while the pause after a refusal lasts. */
  check(): void {
    const known = refusals.get(this.#key);
    if (known === undefined || Date.now() >= known.until) return;
    const when = new Date(known.until).toISOString().slice(0, 19);
    throw new PluginError(
      'Auth',
      `${known.message}. Controllers lock accounts, so this login is not retried before ${when}Z; changed credentials are tried immediately`,
    );
  }

  refused(message: string): PluginError {
    const times = (refusals.get(this.#key)?.times ?? 0) + 1;
    const pauseMs = Math.min(firstPauseMs * 2 ** (times - 1), longestPauseMs);
    refusals.set(this.#key, { times, until: Date.now() + pauseMs, message });
    return new PluginError('Auth', message);
  }

  accepted(): void {
    refusals.delete(this.#key);
  }
}
