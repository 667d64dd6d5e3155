import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Stack, startStack } from '../../harness/stack.js';
import { until } from '../../harness/until.js';
import { type Ground, greeting, openGround, recipe } from '../../harness/image/ground.js';

describe('an image that is built', () => {
  let stack: Stack;
  let ground: Ground;
  let ledger: string;

  beforeAll(async () => {
    stack = await startStack({ config: { periodicChecks: { every: '2s' } } });
    ledger = join(stack.folder, 'ledger');
    await stack.startWorker();
    ground = openGround(stack);
  });

  it('waits for a builder, is captured, booted, offered, kept twice, and rolled back', async () => {
    const { apply, build, has, hostnames } = ground;
    await apply('web', {
      recipe,
      ...greeting(ledger, 'one'),
      validate: { command: 'test "$(cat "$HOME/greeting")" = one' },
    });
    const { build: asked } = await stack.client.images.build('web');
    await until(
      'the build waits',
      async () => (await ground.see('web')).builds[0]?.step === 'waits for a builder',
    );
    expect(await hostnames()).toEqual([]);
    await stack.startBuilder();
    const first = await stack.client.images.waitForBuild('web', asked, { everyMs: 100 });
    expect(first).toMatchObject({
      number: 1,
      state: 'ready',
      sizeMb: 1,
      uploads: [{ provider: 'local', state: 'ready', image: 'web@1' }],
      provenance: { source: 'host of local with greeting' },
    });
    expect(first.provenance.validated).toBeDefined();
    expect(await hostnames()).toEqual([]);

    await build('web');
    expect((await build('web')).number).toBe(3);
    await until('the oldest is gone', async () => !(await has('web@1')));
    await until('its record is gone', async () => (await ground.see('web')).builds.length === 2);
    expect((await ground.see('web')).builds.map(({ number }) => number)).toEqual([3, 2]);
    expect((await readFile(ledger, 'utf8')).trim().split('\n')).toHaveLength(3);

    expect(await stack.client.images.rollBack('web')).toEqual({ build: 3 });
    await until('the newest is gone', async () => !(await has('web@3')));
    expect(await ground.see('web')).toMatchObject({ newest: 2, paused: { why: 'build 3 was rolled back' } });
    await expect(stack.client.images.rollBack('web')).rejects.toThrow(/no build before 2/);

    // Old after a second: the rounds of the clock see to it.
    await stack.client.images.resume('web');
    await apply('web', { recipe, ...greeting(ledger, 'one'), keep: 1, rebuildAge: '1s' });
    await until('it is built by its age', async () => ((await ground.see('web')).newest ?? 0) > 3);
    await stack.client.images.pause('web');
    await until(
      'it rests',
      async () => !(await ground.see('web')).builds.some(({ state }) => state === 'building'),
    );
    await stack.client.images.delete('web');
    await stack.client.images.gone('web');
    expect(await has('web@2')).toBe(false);
  });
});
