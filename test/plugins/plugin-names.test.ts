import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { listPluginNames } from '../../src/plugins/plugin-names.js';
import { newFolder } from '../harness/folder.js';

it('names of plugins are found beside folders that cannot be read', async () => {
  const [damaged, own] = [newFolder(), newFolder()];
  await writeFile(join(damaged, 'providers'), 'a file');
  await mkdir(join(own, 'providers', 'attic'), { recursive: true });
  await writeFile(join(own, 'providers', 'attic', 'attic.json'), '{}');
  await mkdir(join(own, 'providers', 'closed'));
  // Has no effect on root.
  await chmod(join(own, 'providers', 'closed'), 0);
  expect(listPluginNames('provider', [damaged, join(own, 'absent'), own])).toEqual(
    expect.arrayContaining(['docker', 'attic']),
  );
});
