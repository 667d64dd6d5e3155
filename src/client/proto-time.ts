/** A time or a duration of the server, in ms. */
export function protoMs(
  time:
    | { readonly seconds?: { toString(): string } | null; readonly nanos?: number | null }
    | null
    | undefined,
): number {
  return Number((time?.seconds ?? 0).toString()) * 1_000 + Math.floor((time?.nanos ?? 0) / 1e6);
}
