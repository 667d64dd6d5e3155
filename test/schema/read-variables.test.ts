import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { composeSpec } from '../../src/schema/cluster/compose.js';
import { readVariables } from '../../src/schema/cluster/read-variables.js';
import { newFolder } from '../harness/folder.js';

it('variables are read with includes up to 1 MiB together', async () => {
  const folder = newFolder();
  const put = async (name: string, text: string): Promise<string> => {
    await writeFile(join(folder, name), text);
    return join(folder, name);
  };
  const filling = `# ${'x'.repeat(400 * 1024)}\n`;
  for (const name of ['one', 'two', 'three'])
    await put(`${name}.yaml`, `${filling}variables: {${name}: {}}\n`);
  const main = await put(
    'web.yaml',
    'name: web\ninclude: [one.yaml, two.yaml, three.yaml]\nvariables: {own: {}}\n',
  );
  expect(Object.keys(readVariables(main)).toSorted()).toEqual(['one', 'own', 'two']);
});

it('a composition without inlining keeps the names of files', () => {
  const text = 'nodes: {app: {fields: {key: {file: absent}}}}\n';
  const limits = { bytes: 1_000, depth: 64 };
  expect(composeSpec(text, 'web.yaml', limits)).toMatchObject({ problems: [{}] });
  expect(composeSpec(text, 'web.yaml', { ...limits, inlines: false })).toMatchObject({
    value: { nodes: { app: { fields: { key: { file: 'absent' } } } } },
    problems: [],
  });
});
