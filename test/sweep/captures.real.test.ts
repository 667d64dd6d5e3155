import { beforeAll, describe, expect, it } from 'vitest';
import type { Leak } from '../../src/client/index.js';
import { startStack, type Stack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import {
  greeting,
  openGround as openImages,
  recipe,
  type Ground as Images,
} from '../harness/image/ground.js';
import { openGround, type Ground } from '../harness/machine/ground.js';

describe('the sweep of captured images', () => {
  let stack: Stack;
  let images: Images;
  let machines: Ground;
  beforeAll(async () => {
    stack = await startStack({
      config: { sweep: { every: '1h', minimumAge: '1ms', cap: 20, delete: true } },
    });
    await stack.startWorker();
    await stack.startBuilder();
    images = openImages(stack);
    machines = openGround(stack);
  });

  const leaks = async (): Promise<readonly Pick<Leak, 'kind' | 'providerid'>[]> =>
    (await stack.client.sweep()).leaks
      .filter(({ what }) => what === 'image')
      .map(({ kind, providerid }) => ({ kind, providerid }));

  it('deletes the one of a build that was terminated during the capture, and none that an image knows', async () => {
    for (const name of ['kept', 'left'])
      await images.apply(name, { recipe, ...greeting('/dev/null', name), validate: false });
    await images.build('kept');
    const answer = await stack.service.arm({ fault: 'hold-answer', operation: 'capture' });
    await stack.client.images.build('left');
    await until(
      'a capture whose start was not reported',
      async () => (await stack.service.held(answer)) === 1,
      120_000,
    );
    await stack.client.temporal.workflow.getHandle('image/left').terminate('a person did so');
    await stack.service.release(answer);
    await until('the image is made all the same', () => images.has('left@1'), 120_000);

    expect(await leaks()).toEqual([{ kind: 'orphan', providerid: 'left@1' }]);
    await until(
      'it is deleted',
      async () => {
        await stack.client.sweep();
        return !(await images.has('left@1'));
      },
      120_000,
    );
    expect(await images.has('kept@1')).toBe(true);
    expect(await leaks()).toEqual([]);
  });

  it('shows those that users captured of a terminated machine, and deletes them only by name', async () => {
    for (const name of ['stays', 'gone', 'cut']) {
      await machines.add(name);
      expect(
        (
          await machines.operate(name, {
            kind: 'capture',
            image: { name: `of-${name}`, revision: '1' },
            prove: false,
          })
        ).operation,
      ).toMatchObject({ state: 'done' });
    }
    expect(await leaks()).toEqual([]);
    await machines.operate('gone', { kind: 'remove', force: true });
    await stack.client.temporal.workflow.getHandle('machine/cut').terminate('a person did so');
    expect(await leaks()).toEqual([{ kind: 'captured', providerid: 'of-cut@1' }]);
    await until(
      'its machine is deleted',
      async () => {
        await stack.client.sweep();
        return !(await images.hostnames()).includes('machine-cut');
      },
      120_000,
    );
    for (const name of ['stays', 'gone', 'cut']) expect(await images.has(`of-${name}@1`)).toBe(true);

    expect((await stack.client.deleteLeaks(['of-cut@1'])).deleted).toMatchObject([
      { providerid: 'of-cut@1' },
    ]);
    expect(await images.has('of-cut@1')).toBe(false);
    expect(await leaks()).toEqual([]);
    expect(await images.has('of-gone@1')).toBe(true);
  });
});
