import { createHash } from 'node:crypto';
import { stableJson } from '../../model/node/payload.js';
import type { Machine } from '../../plugins/contract.js';
import type { OpenAccount } from './account.js';

/** Default maximum age of a shared list, in ms. */
const freshMs = 1_000;

/** One list call of an account serves all concurrent probes. A list asked for after `since` is shared. */
export interface SharedLists {
  get(
    account: OpenAccount,
    tags: Readonly<Record<string, string>>,
    ask: (signal: AbortSignal) => Promise<readonly Machine[]>,
    since?: number,
  ): Promise<readonly Machine[]>;
}

export function createSharedLists(): SharedLists {
  const lists = new Map<
    string,
    { readonly askedAt: number; readonly machines: Promise<readonly Machine[]> }
  >();
  return {
    get({ name, plugin, fields }, tags, ask, since = performance.now() - freshMs) {
      const key = createHash('sha256')
        .update(stableJson([name, fields, tags]))
        .digest('hex');
      const shared = lists.get(key);
      if (shared !== undefined && shared.askedAt > since) return shared.machines;
      // Not tied to the first caller's signal: others wait for it too.
      const machines = ask(AbortSignal.timeout(plugin.descriptor.callDeadlineMs));
      const entry = { askedAt: performance.now(), machines };
      lists.set(key, entry);
      const forget = (): void => {
        if (lists.get(key) === entry) lists.delete(key);
      };
      machines.then(() => setTimeout(forget, freshMs).unref(), forget);
      return machines;
    },
  };
}
