import { jsonBytes } from '../carried.js';
import type { Json } from '../json.js';
import type { ClusterState } from './state.js';

type Readers = NonNullable<ClusterState['readers']>;

/** Room for the clusters that use outputs of one, with the values they have, in bytes of JSON. */
export const maxReadersBytes = 50_000;

/**
 * Notes which values another cluster has; without any, it uses none any more. A signal cannot be refused, so
 * if there are too many, those that reported longest ago are forgotten: they may be gone. Returns their
 * names.
 */
export function noteValues(
  before: Readers,
  cluster: string,
  values: Readonly<Record<string, Json>>,
): { readonly readers: Readers; readonly forgotten: readonly string[] } {
  const { [cluster]: _before, ...others } = before;
  if (Object.keys(values).length === 0) return { readers: others, forgotten: [] };
  const readers: (readonly [string, Readers[string]])[] = [];
  const forgotten: string[] = [];
  let bytes = 0;
  // The newest comes last.
  for (const entry of Object.entries({ ...others, [cluster]: values }).toReversed()) {
    const more = jsonBytes(entry);
    if (bytes + more > maxReadersBytes) forgotten.push(entry[0]);
    else {
      readers.unshift(entry);
      bytes += more;
    }
  }
  return { readers: Object.fromEntries(readers), forgotten };
}
