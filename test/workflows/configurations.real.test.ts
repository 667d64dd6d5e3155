import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { heddleOn } from '../harness/cli/run-heddle.js';
import { startStack, type Stack } from '../harness/stack.js';
import { until } from '../harness/until.js';

describe('workers of one installation', () => {
  let stack: Stack;
  let other: Stack;
  beforeAll(async () => {
    stack = await startStack();
    await stack.startWorker();
  });
  afterAll(async () => {
    await other.stop();
    await stack.stop();
  });
  const { run, json } = heddleOn(() => stack);

  function write(name: string, provider: string): string {
    const file = join(stack.folder, `${name}.yaml`);
    writeFileSync(
      file,
      `name: ${name}\nnodes: {app: {count: 1, provider: ${provider}, hardware: tiny, image: host}}\n`,
    );
    return file;
  }

  it('with different configurations are reported by doctor, plan and the one that starts', async () => {
    const file = write('same', 'local');
    expect(await json('plan', file)).toMatchObject({ warnings: [] });
    expect((await run('doctor')).stdout).toContain('all workers have the same configuration');
    other = await startStack({
      namespace: stack.namespace,
      accounts: {
        far: {
          type: 'local',
          site: 'moon',
          fields: { endpoint: 'http://127.0.0.1:1', apiKey: 'hunter2-and-more' },
        },
      },
    });
    const worker = await other.startWorker('other');
    expect(worker.output()).toMatch(
      /have different configurations: only \d+@\S+ has provider far, provider local differs/,
    );
    expect(worker.output()).not.toContain('hunter2');
    const said =
      /workers \d+@\S+ and \d+@\S+ of one queue have different configurations: only \d+@\S+ has provider far/;
    await until('the server shows both', async () => said.test((await run('plan', file)).stdout));
    const found = await run('doctor');
    expect(found.stdout).toMatch(said);
    expect(found.stdout).toMatch(/^warn +configurations/m);
    expect(found.code).toBe(1);
    await worker.stop();
    expect(await json('plan', file)).toMatchObject({ warnings: [] });
  });

  it('plan and apply report a provider of a site without workers', async () => {
    const far = await startStack({
      accounts: {
        far: { type: 'local', site: 'moon', fields: { endpoint: 'http://127.0.0.1:1', apiKey: 'x-x-x-x' } },
      },
    });
    try {
      await far.startWorker();
      const file = join(far.folder, 'far.yaml');
      writeFileSync(
        file,
        'name: far\nnodes: {app: {count: 1, provider: far, hardware: tiny, image: host}}\n',
      );
      const heddle = heddleOn(() => far);
      for (const verb of ['plan', 'apply']) {
        const ended = await heddle.run(verb, file);
        expect(ended.code).toBe(5);
        expect(ended.stderr).toContain(
          'nodes.app: provider far is of site moon, and no worker polls its queue heddle.moon',
        );
      }
      expect(await far.client.list()).toEqual([]);
    } finally {
      await far.stop();
    }
  });
});
