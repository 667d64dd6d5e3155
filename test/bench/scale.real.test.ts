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
  // Each cluster has the history of its own workflow and that of its revisions.
  expect(stdout).toMatch(/^3 nodes: .* 2 histories, .*\n2 clusters, 4 nodes: .* 4 histories, .*\n$/);
});
