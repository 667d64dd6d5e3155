import { PluginError, type Machine } from '../contract.js';

/** A machine as CONFIRM sees it at its provider. */
export interface SeenMachine {
  /** Names it in messages: `instance i-0a1b2c`. */
  readonly what: string;
  readonly state: Machine['state'];
  /** Its state in the provider's words. */
  readonly shown?: string;
  /** Why it failed, was deleted or is switched off. */
  readonly why?: string;
}

/**
 * For CONFIRM: returns if the machine runs.
 * @param againMs Delay before the next check of one that may still come to run, in ms.
 * @throws PluginError NotReady if it may, MachineFailed if it never will.
 */
export function requireRunning({ what, state, shown, why }: SeenMachine, againMs: number): void {
  const because = why === undefined ? '' : `: ${why}`;
  switch (state) {
    case 'running':
      return;
    case 'starting':
      throw notReady(`${what} is ${shown ?? 'starting'}`, againMs);
    case 'stopped':
      throw notReady(`${what} is switched off${because}`, againMs);
    case 'failed':
      throw neverReady(`${what} failed: ${why ?? shown ?? 'no reason given'}`);
    case 'deleting':
      throw neverReady(`${what} is being deleted`);
    case 'gone':
      throw neverReady(`${what} was deleted${because}`);
  }
}

export function notReady(message: string, againMs: number): PluginError {
  return new PluginError('NotReady', message, { retryAfterMs: againMs });
}

function neverReady(message: string): PluginError {
  return new PluginError('MachineFailed', `${message}. Replace the node.`);
}
