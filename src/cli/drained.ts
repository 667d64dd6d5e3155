import { once } from 'node:events';
import { within } from '../model/signals.js';
import { isReaderGone } from './interrupts.js';

// One listener for each stream, however many wait.
const drains = new WeakMap<NodeJS.WriteStream, Promise<void>>();

/**
 * Settles when more can be written to a standard stream: at once if it has room or no reader, and at the
 * signal.
 */
export async function drained(stream: NodeJS.WriteStream, signal: AbortSignal): Promise<void> {
  if (!stream.writableNeedDrain || isReaderGone()) return;
  await within(nextDrain(stream), signal).catch(() => undefined);
}

/** After the signal, what a slow reader has no room for is dropped: it would fill the memory. */
export async function writeDraining(
  stream: NodeJS.WriteStream,
  data: string | Buffer,
  signal: AbortSignal,
): Promise<void> {
  if (isReaderGone() || (signal.aborted && stream.writableNeedDrain)) return;
  stream.write(data);
  await drained(stream, signal);
}

function nextDrain(stream: NodeJS.WriteStream): Promise<void> {
  const known = drains.get(stream);
  if (known !== undefined) return known;
  const over = (): void => void drains.delete(stream);
  const drain = once(stream, 'drain').then(over, over);
  drains.set(stream, drain);
  return drain;
}
