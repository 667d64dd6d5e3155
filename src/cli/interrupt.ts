import { CliError } from './errors.js';

/** Ctrl-C, a plain kill or a closed terminal, once; the second one has its default effect. */
export function catchInterrupt(): {
  readonly signal: AbortSignal;
  readonly happened: Promise<never>;
  readonly release: () => void;
} {
  const controller = new AbortController();
  const abort = (): void => controller.abort(new Error('interrupted'));
  const happened = new Promise<never>((_resolve, reject) => {
    controller.signal.addEventListener('abort', () => reject(controller.signal.reason), { once: true });
  });
  happened.catch(() => undefined);
  process.once('SIGINT', abort).once('SIGTERM', abort).once('SIGHUP', abort);
  return {
    signal: controller.signal,
    happened,
    release: () => void process.off('SIGINT', abort).off('SIGTERM', abort).off('SIGHUP', abort),
  };
}

/**
 * Waits until an interrupt, which ends the waiting but not the work.
 * @throws CliError Interrupted
 */
export async function untilInterrupted<Result>(
  wait: (signal: AbortSignal) => Promise<Result>,
  what: string,
  next: string,
): Promise<Result> {
  const { signal, happened, release } = catchInterrupt();
  try {
    const waiting = wait(signal);
    // After an interrupt the wait rejects, too.
    waiting.catch(() => undefined);
    return await Promise.race([waiting, happened]);
  } catch (cause) {
    if (!signal.aborted) throw cause;
    throw new CliError('Interrupted', `stopped watching; ${what} goes on`, { next, cause });
  } finally {
    release();
  }
}
