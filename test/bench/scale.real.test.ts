import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');

it('bench/scale.mjs creates clusters whose tasks do nothing', async () => {
  const { stdout } = await run(process.execPath, [join(root, 'bench', 'scale.mjs'), '3', '2x2'], {
    cwd: root,
    timeout: 160_000,
  });
  expect(stdout).toMatch(/^3 nodes: .* 1 histories, .*\n2 clusters, 4 nodes: .* 2 histories, .*\n$/);
});
