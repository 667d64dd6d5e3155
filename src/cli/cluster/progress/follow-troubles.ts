import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerView } from '../../system/server-view.js';
import { findTroubles } from '../../system/troubles.js';

/** Between two looks, in ms: what fails once is tried again sooner. */
const lookMs = 10_000;

export interface FollowTroublesOptions {
  readonly signal: AbortSignal;
  readonly look: () => Promise<ServerView>;
  /** The command that shows all of them. */
  readonly more: string;
  readonly onChange: (text: string | undefined) => void;
}

/**
 * Reports what keeps workflows from continuing, and undefined when nothing does any more; needs no worker. Ends with
 * the signal.
 */
export async function followTroubles({ signal, look, more, onChange }: FollowTroublesOptions): Promise<void> {
  let told: string | undefined;
  for (;;) {
    await sleep(lookMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    const server = await look().catch(() => undefined);
    // The wait itself reports a server that does not answer.
    if (server === undefined) continue;
    const [first, ...others] = findTroubles(server, Date.now());
    const text =
      first === undefined
        ? undefined
        : `stuck: ${first.gist.split('\n')[0]}${others.length === 0 ? '' : ` (and ${others.length} more: ${more})`}`;
    if (text !== told) onChange(text);
    told = text;
  }
}
