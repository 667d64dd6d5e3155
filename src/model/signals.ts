const sources = new WeakMap<AbortSignal, readonly AbortSignal[]>();

/**
 * `AbortSignal.any` that keeps its sources alive. Node refers to them weakly: an `AbortSignal.timeout`
 * without other references is garbage-collected and never fires.
 */
export function anySignal(signals: readonly AbortSignal[]): AbortSignal {
  const any = AbortSignal.any([...signals]);
  sources.set(any, signals);
  return any;
}

/** Rejects with the signal's reason once that is aborted, even if the work ignores the signal. */
export async function within<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  let stop = (): void => {
    /* Replaced at once. */
  };
  try {
    return await Promise.race([
      work,
      new Promise<never>((_resolve, reject) => {
        stop = () => reject(signal.reason);
        if (signal.aborted) stop();
        signal.addEventListener('abort', stop, { once: true });
      }),
    ]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
