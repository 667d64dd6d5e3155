/** A time or a duration of the server, in ms. */
export function protoMs(
  time: { readonly seconds?: unknown; readonly nanos?: number | null } | null | undefined,
): number {
  return Number(String(time?.seconds ?? 0)) * 1_000 + Math.floor((time?.nanos ?? 0) / 1e6);
}
