import { readdir, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

interface InventoryVersion {
  /** Unchanged while no file of the inventory changes. */
  readonly text: string;
  /**
   * Whether the last change is old enough; otherwise a file may be half written, or change again within one
   * tick of its clock.
   */
  readonly isSettled: boolean;
}

const settledAfterMs = 10_000;

/** The version of an inventory file and of `group_vars` and `host_vars` beside it, without reading them. */
export async function versionOf(file: string): Promise<InventoryVersion> {
  const folder = dirname(resolve(file));
  const found: string[] = [];
  let changedMs = 0;
  const visit = async (path: string, depth: number): Promise<boolean> => {
    const stats = await stat(path, { bigint: true }).catch(() => undefined);
    if (stats === undefined) return false;
    const { dev, ino, size, mtimeNs, ctimeNs, ctimeMs } = stats;
    changedMs = Math.max(changedMs, Number(ctimeMs));
    found.push([path, dev, ino, size, mtimeNs, ctimeNs].join(' '));
    if (depth > 0 && stats.isDirectory()) {
      const names = await readdir(path).catch(() => []);
      await Promise.all(names.map((name) => visit(join(path, name), depth - 1)));
    }
    return true;
  };
  const [isThere] = await Promise.all([
    visit(resolve(file), 0),
    visit(join(folder, 'group_vars'), 2),
    visit(join(folder, 'host_vars'), 2),
  ]);
  // Its folder changed when the file was removed, perhaps to be rewritten.
  if (!isThere) await visit(folder, 0);
  return { text: found.toSorted().join('\n'), isSettled: Math.abs(Date.now() - changedMs) > settledAfterMs };
}
