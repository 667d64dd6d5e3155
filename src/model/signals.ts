const sources = new WeakMap<AbortSignal, readonly AbortSignal[]>();

/**
 * `AbortSignal.any` that keeps what it was made of for as long as it lives itself. Node refers to that
 * weakly: an `AbortSignal.timeout` that nothing else refers to is collected as garbage, and its time is never
 * over.
 */
export function anySignal(signals: readonly AbortSignal[]): AbortSignal {
  const any = AbortSignal.any([...signals]);
  sources.set(any, signals);
  return any;
}
