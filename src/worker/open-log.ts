import { pino, stdSerializers, type Logger } from 'pino';

/** Bytes that wait to be written at most; further lines are lost while they cannot be. */
const waitingBytes = 16 * 1024 * 1024;

/**
 * The log of a worker, on standard output. Lines that cannot be written, such as to a full disk, are lost: they
 * must not end the tasks of the worker.
 */
export function openLog(about: Readonly<Record<string, unknown>>): Logger {
  const destination = pino.destination({ fd: 1, sync: true, maxLength: waitingBytes });
  destination.on('error', () => undefined);
  return pino(
    {
      level: 'info',
      base: { pid: process.pid, ...about },
      // The SDK logs errors under this name.
      serializers: {
        error: (error: unknown) => (error instanceof Error ? stdSerializers.err(error) : error),
      },
    },
    destination,
  );
}
