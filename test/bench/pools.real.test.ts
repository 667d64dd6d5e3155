import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');

it('bench/pools.mjs runs its parts with few nodes and reports figures', async () => {
  const { stdout } = await run(
    process.execPath,
    [join(root, 'bench', 'pools.mjs'), '--json', 'burst:8', 'evict'],
    { cwd: root, timeout: 160_000 },
  );
  const figures = new Map(
    stdout
      .trim()
      .split('\n')
      .map((line): readonly [string, number] => {
        const { what, value } = JSON.parse(line) as { readonly what: string; readonly value: number };
        return [what, value];
      }),
  );
  expect([...figures.keys()]).toEqual(['burst 8', 'gone 8', 'CPU 8', 'evicted']);
  expect(figures.get('evicted')).toBe(1);
  for (const value of figures.values()) expect(value).toBeGreaterThan(0);
});
