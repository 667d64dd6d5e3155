import { isPluginError } from '../plugins/errors.js';
import { endsItself, inTime } from './cancelled.js';
import type { ProviderBench } from './provider-bench.js';

export function lacksProxy({ proxy }: ProviderBench): string | undefined {
  return proxy === undefined ? "options.endpoint names no field with the API's address" : undefined;
}

/** What happens to a call: it loses its response, or hangs. */
export type CallFaultKind = 'lose' | 'hold';

/**
 * Runs an action once for each API call it makes, at most `most` times: in run n the nth call loses its
 * response, or hangs. `run` may arm the fault again after other calls, with `arm`.
 * @returns whether every call was covered.
 */
export async function forEachCall(
  { proxy }: ProviderBench,
  kind: CallFaultKind,
  most: number,
  run: (call: { readonly number: number; readonly arm: () => void }) => Promise<void>,
): Promise<boolean> {
  for (let number = 1; number <= most; number += 1) {
    let met = false;
    const arm = (): void =>
      proxy?.set((call) => {
        if (call.number !== number) return undefined;
        met = true;
        return { kind };
      });
    arm();
    await run({ number, arm });
    // A call that hangs does so until the proxy closes; new calls pass.
    proxy?.clear();
    if (!met) return true;
  }
  return false;
}

/**
 * Cancels an action as soon as its nth API call hangs.
 * @returns false if the action ended before that call.
 */
export async function cancelAtCall(
  bench: ProviderBench,
  number: number,
  start: (signal: AbortSignal) => Promise<unknown>,
): Promise<boolean> {
  const cancel = new AbortController();
  let ended = false;
  const outcome = start(cancel.signal)
    .then(
      () => undefined,
      (error: unknown) => error,
    )
    .finally(() => {
      ended = true;
    });
  await bench.until('the call that hangs', () =>
    Promise.resolve(ended || (bench.proxy?.calls() ?? 0) >= number),
  );
  if (ended) return false;
  cancel.abort(new Error('the suite cancelled this call'));
  endsItself(await inTime(outcome), bench.plugin);
  return true;
}

/** A call whose response was lost may fail, but only with a PluginError. */
export function expectPluginError(error: unknown): void {
  if (!isPluginError(error)) throw error;
}
