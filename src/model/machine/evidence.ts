import type { Known, Power } from './answer.js';
import type { CurrentImage } from './current-image.js';

/**
 * All observations of one check of a machine, before they are judged. Each piece says of itself when it is
 * not known.
 */
export interface Evidence {
  /** Its plugin reported all of this, because it has no log-in; absent: SSH did. */
  readonly by?: 'plugin';
  /**
   * Whether anything answers at its address: SSH, a connection that is refused, or an ICMP echo.
   * `no` also for an echo without a reply, which a firewall may have dropped; it decides nothing.
   */
  readonly ping: Known;
  /** What answered, or did not. */
  readonly pingBy?: 'tcp' | 'icmp';
  /** Whether a log-in is possible. `no` only where that is certain, for the machine is switched off. */
  readonly ssh: Known;
  readonly power: Power;
  /** The next boot device, if the provider reports it: `disk`, `pxe`. */
  readonly bootTarget?: string;
  /** The machine's image as recorded by the provider, if it reports one. */
  readonly assigned?: string;
  readonly record: RecordReading;
  /**
   * Whether a user had a terminal on it since its record was written; absent if not requested.
   */
  readonly logIns?: Known;
  /** Whether the system reports the image as intact; absent if it cannot be asked. */
  readonly check?: Known;
  /** Why the pieces that are unknown are so, and what else people should read. */
  readonly notes: readonly string[];
}

/** `missing`: the machine itself reported that there is none. `unknown`: it could not be asked. */
export type RecordReading =
  | { readonly is: 'read'; readonly record: CurrentImage }
  | { readonly is: 'missing' }
  | { readonly is: 'unknown' };
