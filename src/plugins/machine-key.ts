import { PluginError } from './errors.js';

/** A machine as its provider shows it; `key` is the value of its tag `heddle-key`. */
interface ShownMachine {
  readonly providerid: string;
  readonly key: string | undefined;
}

/**
 * For providers that look machines up by their ids. An id comes from a payload, so it may name any machine of
 * the account; only the key that CREATE put on a machine says whose it is.
 * @throws PluginError Invalid for a machine with another key or without one.
 */
export function requireKey({ providerid, key: shown }: ShownMachine, key: string): void {
  if (shown === key) return;
  const has = shown === undefined ? 'has no tag heddle-key' : `has the key ${shown}`;
  throw new PluginError(
    'Invalid',
    `machine ${providerid} ${has}, and this node's machine has the key ${key}: nothing was done with it. ` +
      'Look at the machine at its provider; then replace the node',
  );
}
