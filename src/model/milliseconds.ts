/** Converts the seconds of a spec. */
export function milliseconds(seconds: number): number {
  return Math.round(seconds * 1_000);
}
