import { chownSync } from 'node:fs';
import { vi } from 'vitest';

/**
 * Makes files and folders belong to another user: root gives them away, anybody else becomes another user in
 * the eyes of this process. The function that it returns takes that back.
 */
export function pretendForeign(...paths: readonly string[]): () => void {
  const own = process.getuid?.() ?? 0;
  if (own === 0) {
    for (const path of paths) chownSync(path, 65_534, 65_534);
    return () => {
      for (const path of paths) chownSync(path, 0, 0);
    };
  }
  const spy = vi.spyOn(process, 'getuid').mockReturnValue(own + 1);
  return () => {
    spy.mockRestore();
  };
}

/** Calls a function without root's permission to read and enter every folder. */
export function withoutRoot<Value>(call: () => Value): Value {
  if (process.geteuid?.() !== 0) return call();
  process.seteuid?.(65_534);
  try {
    return call();
  } finally {
    process.seteuid?.(0);
  }
}
