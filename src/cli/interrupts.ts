import { setMaxListeners } from 'node:events';
import { onFirstSignal } from '../config/on-first-signal.js';
import { exitCodes } from './errors.js';

/** What ends a wait: a signal, or the end of the reader of the output. */
type Interrupt = 'SIGINT' | 'SIGTERM' | 'SIGHUP' | 'SIGPIPE';

/** As shells have it: 128 and the number of the signal. */
export const interruptCodes: Readonly<Record<Interrupt, number>> = {
  SIGINT: exitCodes.interrupted,
  SIGTERM: 143,
  SIGHUP: 129,
  SIGPIPE: 141,
};

// A process has one set of signals and of standard streams.
const waiting = new Set<() => void>();
let interrupt: Interrupt | undefined;
let isGone = false;

/** The exit code of a command that was interrupted; undefined if it was not. */
export function exitCodeOfInterrupt(): number | undefined {
  return interrupt === undefined ? undefined : interruptCodes[interrupt];
}

/** Whether the reader of the output has ended. */
export function isReaderGone(): boolean {
  return isGone;
}

/**
 * Interrupts waits, because the reader of the output has ended. Returns false if there was
 * never a wait. Does not listen to SIGPIPE: without a listener, Node.js ignores the signal, but
 * after its removal the next write would end the process.
 */
export function interruptByReader(): boolean {
  if (waiting.size === 0) return false;
  isGone = true;
  for (const abort of waiting) abort();
  return true;
}

export interface InterruptWatch {
  readonly signal: AbortSignal;
  readonly happened: Promise<never>;
  /** The result of a wait, or a rejection as soon as there is an interrupt: the wait may end later. */
  readonly race: <Result>(wait: Promise<Result>) => Promise<Result>;
  readonly release: () => void;
}

/**
 * Watches for Ctrl-C, a plain kill, a closed terminal, or the end of the reader of the output.
 * A second Ctrl-C or kill has its default effect; a closed terminal, of which shell and system
 * both notify, has none. The end of the reader is noticed after `release` too: without it the
 * command does not end at once, and the exit code says so.
 */
export function catchInterrupt(): InterruptWatch {
  const controller = new AbortController();
  // One for each concurrent wait.
  setMaxListeners(0, controller.signal);
  const abort = (by: Interrupt): void => {
    if (!controller.signal.aborted) interrupt = by;
    controller.abort(new Error('interrupted'));
  };
  const happened = new Promise<never>((_resolve, reject) => {
    controller.signal.addEventListener('abort', () => reject(controller.signal.reason), { once: true });
  });
  happened.catch(() => undefined);
  const stopListening = onFirstSignal(['SIGINT', 'SIGTERM'], abort);
  process.on('SIGHUP', abort);
  waiting.add(() => abort('SIGPIPE'));
  return {
    signal: controller.signal,
    happened,
    race: (wait) => {
      wait.catch(() => undefined);
      return Promise.race([wait, happened]);
    },
    release: () => {
      stopListening();
      process.off('SIGHUP', abort);
    },
  };
}
