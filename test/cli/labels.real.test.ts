import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { heddleOn } from '../harness/cli/run-heddle.js';
import { type Stack, startStack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { nodes } from '../harness/workflows/spec.js';

describe('labels of clusters', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack();
    await stack.startWorker();
  });

  const { run, json } = heddleOn(() => stack);
  const apply = async (name: string, count: number, labels?: object): Promise<void> => {
    const file = join(stack.folder, `${name}.yaml`);
    await writeFile(file, JSON.stringify({ name, labels, nodes: { app: nodes(count, []) } }));
    expect(await run('apply', file)).toMatchObject({ code: 0 });
  };
  const tagsOf = async (hostname: string): Promise<unknown> =>
    (await stack.service.machines()).find((machine) => machine['hostname'] === hostname)?.['tags'];
  const listed = async (...words: readonly string[]): Promise<readonly string[]> => {
    const { clusters } = await json('list', ...words);
    return (clusters as readonly { readonly name: string }[]).map(({ name }) => name);
  };

  it('select clusters in lists, and are tags of the machines that are created', async () => {
    await apply('red', 1, { team: 'web', stage: 'test' });
    await apply('blue', 1, { team: 'web', stage: 'live' });
    await apply('plain', 1);
    await until('all are indexed', async () => (await listed()).length === 3);
    await until('the labels are indexed', async () => (await listed('--label', 'team=web')).length === 2);
    expect(await listed('-l', 'team=web', '--label', 'stage=live')).toEqual(['blue']);
    expect(await listed('--label', 'team=none')).toEqual([]);
    expect((await run('list')).stdout).toMatch(/^red +idle .* stage=test,team=web$/m);
    expect(await json('list', '--label', 'stage=test')).toMatchObject({
      clusters: [{ name: 'red', labels: { team: 'web', stage: 'test' } }],
    });
    expect(await json('status', 'red')).toMatchObject({ labels: { team: 'web' } });
    expect(await tagsOf('red-app-1')).toMatchObject({
      team: 'web',
      stage: 'test',
      'heddle-cluster': 'red',
      'heddle-node': 'app-1',
    });
  });

  it('change without a change of machines, and reach new machines', async () => {
    const before = await tagsOf('red-app-1');
    await apply('red', 2, { team: 'shop' });
    await until('the labels are indexed', async () => (await listed('--label', 'team=shop')).length === 1);
    expect(await listed('--label', 'stage=test')).toEqual([]);
    expect(await tagsOf('red-app-1')).toEqual(before);
    expect(await tagsOf('red-app-2')).toMatchObject({ team: 'shop' });
    await apply('red', 2);
    await until('no labels are left', async () => (await listed('--label', 'team=shop')).length === 0);
  });

  it('a label is refused if a provider could not take it, or if it resembles a tag of Heddle', async () => {
    const file = join(stack.folder, 'wrong.yaml');
    for (const labels of [{ 'heddle-key': 'x' }, { 'a b': 'x' }, { a: 'x, y' }, { a: '' }]) {
      await writeFile(file, JSON.stringify({ name: 'wrong', labels, nodes: { app: nodes(1, []) } }));
      expect(await run('plan', file), JSON.stringify(labels)).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/labels.*KEY=VALUE: letters, digits/),
      });
    }
    expect(await run('list', '--label', 'team')).toMatchObject({ code: 2 });
    await expect(stack.client.list({ labels: { a: "x' OR 1=1" } })).rejects.toThrow('is not a valid label');
  });
});
