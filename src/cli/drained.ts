import { once } from 'node:events';
import { isReaderGone } from './interrupts.js';

// One listener each, however many wait.
const pending = new Map<NodeJS.WriteStream, Promise<void>>();
const aborts = new WeakMap<AbortSignal, Promise<void>>();

/** Settles when more can be written to a standard stream: at once if it has room or no reader, and at the signal. */
export async function drained(stream: NodeJS.WriteStream, signal: AbortSignal): Promise<void> {
  if (!stream.writableNeedDrain || isReaderGone() || signal.aborted) return;
  const waiting =
    pending.get(stream) ??
    once(stream, 'drain').then(
      () => undefined,
      () => undefined,
    );
  pending.set(stream, waiting);
  const aborted = aborts.get(signal) ?? once(signal, 'abort').then(() => undefined);
  aborts.set(signal, aborted);
  await Promise.race([waiting, aborted]);
  pending.delete(stream);
}
