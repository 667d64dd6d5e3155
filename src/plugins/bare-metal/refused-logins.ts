import { createHash } from 'node:crypto';
import { PluginError } from '../errors.js';

/** Pause after the first refusal, in ms; doubles with each further one. */
const firstPauseMs = 30_000;
const longestPauseMs = 15 * 60_000;

interface Refusal {
  readonly times: number;
  /** The login is not tried before. */
  readonly until: number;
  readonly message: string;
}

/** Logins that controllers refused, by a digest of controller and credentials: changed ones are tried at once. */
const refusals = new Map<string, Refusal>();

/** One login at one controller. Controllers lock accounts, so a refused login is tried again only after growing pauses. */
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
      `${known.message}. Controllers lock accounts, so this login is not tried again before ${when}Z; changed credentials are tried at once`,
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
