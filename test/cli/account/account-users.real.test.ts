import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { heddleOn } from '../../harness/cli/run-heddle.js';
import { greeting, openGround, recipe } from '../../harness/image/ground.js';
import { type Stack, startStack } from '../../harness/stack.js';
import { until } from '../../harness/until.js';
import { nodes } from '../../harness/workflows/spec.js';

describe('the removal of a provider account', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack();
    await stack.startWorker();
  });

  const { run, json } = heddleOn(() => stack);

  it('names clusters, pools, images and machines that use the account in its question, and changes nothing without an answer', async () => {
    expect((await run('provider', 'remove', 'local')).stderr).toContain(
      'No cluster, pool, image or machine on the server uses it.',
    );
    const offer = { hardware: 'tiny', image: 'host' };
    const pool = {
      labels: { small: {} },
      providerPools: { main: { provider: 'local', limits: { nodes: 1 }, labels: { small: offer } } },
    };
    await writeFile(join(stack.folder, 'pools.yaml'), JSON.stringify({ pools: { ci: pool } }));
    await writeFile(
      join(stack.folder, 'web.yaml'),
      JSON.stringify({ name: 'web', nodes: { app: nodes(1, []) } }),
    );
    expect(await run('pool', 'apply', 'pools.yaml')).toMatchObject({ code: 0 });
    expect(await run('apply', 'web.yaml')).toMatchObject({ code: 0 });
    await stack.startBuilder();
    const { apply, build } = openGround(stack);
    await apply('base', { recipe, ...greeting(join(stack.folder, 'ledger'), 'base'), validate: false });
    await build('base');
    await until('the cluster is indexed', async () =>
      (await run('provider', 'remove', 'local')).stderr.includes('web'),
    );
    expect(await run('provider', 'remove', 'local')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /cluster web, pool ci, image base use it: delete what uses it first.* without one, pass --yes/,
      ),
    });
    expect(await json('provider', 'list')).toMatchObject({
      providers: expect.arrayContaining([expect.objectContaining({ name: 'local' })]),
    });
  });

  it('can be preceded by a test of the account', async () => {
    expect(await run('provider', 'test', 'local')).toMatchObject({
      code: 0,
      stdout: 'local: The provider accepted the account and listed its machines.\n',
    });
  });
});
