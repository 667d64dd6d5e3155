import { checkServer, requireServer, ServerUnreachableError, type ServerAnswer, type ServerLocation } from './check.js';
import { findBinary, type BinarySearch, type TemporalBinary } from './find-binary.js';

export interface TemporalSearch extends BinarySearch {
  /** Where a server may run already: the configured address, or Temporal's default. */
  readonly location: ServerLocation;
  /** What to do about a running server below the floor: use it and report the warning, or throw. */
  readonly olderServer: 'warn' | 'refuse';
}

export type FoundTemporal =
  | { readonly kind: 'running'; readonly server: ServerAnswer }
  /** Nothing runs there, but a server can be started from this binary. */
  | { readonly kind: 'binary'; readonly binary: TemporalBinary };

/**
 * Finds Temporal: a server that answers at the address, else a binary to start one from. Throws BinaryNotFoundError when there is
 * neither, and it names the address too. A server that answers and does not let us in is an error, not an absent one.
 */
export async function findTemporal(search: TemporalSearch): Promise<FoundTemporal> {
  const ask = search.olderServer === 'refuse' ? requireServer : checkServer;
  try {
    return { kind: 'running', server: await ask(search.location) };
  } catch (cause) {
    if (!(cause instanceof ServerUnreachableError) || cause.refused) throw cause;
    return { kind: 'binary', binary: await findBinary(search, [{ place: `a server at ${search.location.address}`, problem: cause.reason }]) };
  }
}
