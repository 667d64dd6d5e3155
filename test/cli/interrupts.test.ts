import { createRequire } from 'node:module';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { catchInterrupt } from '../../src/cli/interrupts.js';

const load = createRequire(createRequire(import.meta.url).resolve('write-file-atomic'));
const { onExit } = load('signal-exit') as { readonly onExit: (end: () => void) => () => void };

it.each(['SIGINT', 'SIGTERM'] as const)(
  'a %s while a file is written interrupts the wait, and the next one ends the process',
  async (name) => {
    const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
    const others = process.listeners(name);
    for (const other of others) process.off(name, other);
    const { signal, release } = catchInterrupt();
    // As write-file-atomic does.
    const written = onExit(() => undefined);
    try {
      process.emit(name, name);
      expect(signal.aborted).toBe(true);
      expect(kill).not.toHaveBeenCalled();
      await nextTurn();
      process.emit(name, name);
      expect(kill).toHaveBeenCalledWith(process.pid, name);
    } finally {
      written();
      release();
      for (const other of others) process.on(name, other);
      kill.mockRestore();
    }
  },
);
