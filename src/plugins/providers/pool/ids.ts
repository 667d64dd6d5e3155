/**
 * An allocated node is named by its pool and the key of the machine that it is: which node of the pool it
 * will be is not known at CREATE.
 */
export function idOf(pool: string, key: string): string {
  return `${pool}/${key}`;
}

/** Which pool an id names; names of pools have no slash. */
export function poolOf(providerid: string | undefined): string | undefined {
  const end = providerid?.indexOf('/') ?? -1;
  return end < 1 ? undefined : providerid?.slice(0, end);
}
