import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { startStack, type Stack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { type Ground, openGround } from '../harness/image/ground.js';

describe('the sweep of uploaded images', () => {
  let stack: Stack;
  let ground: Ground;
  beforeAll(async () => {
    const config: Record<string, unknown> = {
      sweep: { every: '1h', minimumAge: '1ms', cap: 5, delete: true },
    };
    stack = await startStack({ config });
    config['builder'] = {
      builds: 5,
      folder: join(stack.folder, 'files'),
      commands: {
        pack: {
          run: [
            '/bin/sh',
            '-c',
            'mkdir files && echo hello >files/greeting && tar -cf "$HEDDLE_OUTPUT.tar" files',
          ],
        },
      },
    };
    await stack.startWorker();
    await stack.startBuilder();
    ground = openGround(stack);
  });

  it('deletes those whose image was terminated, after two passes, and none that an image knows or uploads', async () => {
    const how = {
      command: { run: 'pack', formats: ['tar'] },
      uploads: [{ provider: 'local' }],
      validate: false,
    };
    for (const name of ['kept', 'left', 'sending']) await ground.apply(name, how);
    for (const name of ['kept', 'left']) expect(await ground.build(name)).toMatchObject({ state: 'ready' });
    const answer = await stack.service.arm({
      fault: 'hold-answer',
      operation: 'upload',
      hostname: 'sending@1',
    });
    await stack.client.images.build('sending');
    await until('an upload whose end was not reported', async () => (await stack.service.held(answer)) === 1);
    expect(await stack.client.sweep()).toMatchObject({ leaks: [], deleted: [], refused: [] });

    await stack.client.temporal.workflow.getHandle('image/left').terminate('a person did so');
    const seen = await stack.client.sweep();
    expect(seen.deleted).toEqual([]);
    expect(seen.leaks).toMatchObject([
      { what: 'image', kind: 'orphan', account: 'local', providerid: 'left@1', cluster: 'image/left' },
    ]);
    expect(await ground.has('left@1')).toBe(true);
    const deleted = await until('it is deleted', async () => (await stack.client.sweep()).deleted[0]);
    expect(deleted).toMatchObject({ providerid: 'left@1' });
    expect(deleted.failed).toBeUndefined();
    expect(await ground.has('left@1')).toBe(false);
    expect(await ground.has('kept@1')).toBe(true);

    await stack.service.release(answer);
    await until('it is ready', async () => (await ground.see('sending')).builds[0]?.state === 'ready');
    expect(await ground.has('sending@1')).toBe(true);
    expect((await stack.client.sweep()).leaks).toEqual([]);
  });
});
