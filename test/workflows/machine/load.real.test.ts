import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Stack, startStack } from '../../harness/stack.js';
import { type Ground, host, openGround } from '../../harness/machine/ground.js';

describe('a standalone machine', () => {
  let stack: Stack;
  let ground: Ground;

  beforeAll(async () => {
    stack = await startStack();
    await stack.startWorker();
    ground = openGround(stack);
  });

  it.concurrent('is loaded once, then left alone, and loaded again because a user was in it', async () => {
    const { add, operate, calls } = ground;
    await add('one');
    const status = await operate('one', { kind: 'status', image: host });
    expect(status.operation.result?.status).toMatchObject({
      status: 'RELOAD',
      why: 'it has no record of its image',
      ssh: 1,
      rpower: 1,
    });

    const load = await operate('one', { kind: 'load', image: host });
    expect(load.operation.failure).toBeUndefined();
    expect(load.operation).toMatchObject({ state: 'done', answer: 'done', result: { did: 'everything' } });
    expect(load.machine).toMatchObject({ state: 'available', image: host });
    expect(load.machine.half).toBeUndefined();

    expect((await operate('one', { kind: 'load', image: host })).operation).toMatchObject({
      state: 'done',
      result: { did: 'nothing', status: { status: 'READY' } },
    });
    expect(await calls('load', 'one')).toHaveLength(1);

    await operate('one', { kind: 'reserve', user: 'ada' });
    // A folder of the host has no accounts of its own, and the host's are none of its business.
    const hostAccounts = await readFile('/etc/passwd', 'utf8');
    const refused = await operate('one', { kind: 'log in', user: 'ada' });
    expect(refused.operation).toMatchObject({
      state: 'failed',
      answer: 'not done',
      failure: {
        action: 'GRANT_ACCESS',
        message: expect.stringContaining('shares its system with others') as string,
      },
    });
    expect(refused.machine).toMatchObject({ state: 'reserved', user: 'ada' });
    expect(await readFile('/etc/passwd', 'utf8')).toBe(hostAccounts);
    const tainted = await operate('one', { kind: 'status' });
    expect(tainted.operation.result?.status).toMatchObject({
      status: 'RELOAD',
      evidence: { tainted: true, taintReasons: ['user ada'] },
    });
    const again = await operate('one', { kind: 'load', image: host });
    expect(again.machine).toMatchObject({ state: 'available' });
    expect(again.machine.user).toBeUndefined();
    expect(await calls('load', 'one')).toHaveLength(2);
    expect(await calls('power-off', 'one')).toHaveLength(2);
    expect(await calls('power-on', 'one')).toHaveLength(2);
  });

  it.concurrent('is captured with its content, and the image is proved and loads onto another', async () => {
    const { add, operate, calls } = ground;
    await add('source');
    await operate('source', { kind: 'load', image: host });
    await ground.onMachine('source', 'echo precious >"$HOME/work"');
    const image = { name: 'work', revision: '7' };
    const captured = await operate('source', { kind: 'capture', image, prove: true });
    expect(captured.operation.failure).toBeUndefined();
    expect(captured.operation.result).toMatchObject({ image, sizeMb: 1 });
    expect(captured.machine).toMatchObject({ state: 'available', image });
    expect(await ground.onMachine('source', 'cat "$HOME/work"')).toBe('precious');

    await add('target');
    await operate('target', { kind: 'load', image });
    expect(await ground.onMachine('target', 'cat "$HOME/work"')).toBe('precious');
    // The record names where it was captured, and when it was loaded.
    expect(await ground.onMachine('target', 'cat "$HOME/currentimage.txt"')).toMatch(
      /^work\nid=work@7\n.*imagerevision_id=7\n.*computer_hostname=machine-source\nvcld_post_load=success \(.+\)$/s,
    );

    const refused = await operate('target', { kind: 'capture', image, prove: true });
    expect(refused.operation).toMatchObject({
      state: 'failed',
      answer: 'not done',
      failure: { action: 'IMAGE_EXISTS' },
    });
    // Nothing was touched, so nobody needs to look.
    expect(refused.machine.state).toBe('available');
    expect(await calls('capture', 'target')).toEqual([]);
    await operate('target', { kind: 'maintain', reason: 'a fan is loud' });
    await expect(stack.client.machines.operate('target', { kind: 'load', image })).rejects.toThrow(
      /in maintenance/,
    );
    expect((await operate('target', { kind: 'restore' })).machine.state).toBe('available');
  });

  it.concurrent('is never loaded because of missing answers', async () => {
    const { add, operate, calls } = ground;
    await add('silent');
    await operate('silent', { kind: 'load', image: host });
    // The machine runs on, and its management does not answer; then SSH does not.
    const fault = await stack.service.arm({
      fault: 'http',
      status: 503,
      operation: 'describe',
      hostname: 'machine-silent',
      count: 0,
    });
    expect((await operate('silent', { kind: 'status' })).operation.result?.status).toMatchObject({
      status: 'READY',
      rpower: null,
    });
    expect((await operate('silent', { kind: 'load', image: host })).operation.result).toMatchObject({
      did: 'nothing',
    });
    await stack.service.release(fault);

    await ground.onMachine('silent', 'rm -f "$HOME/currentimage.txt" && mkdir "$HOME/currentimage.txt"');
    const unread = await operate('silent', { kind: 'load', image: host });
    expect(unread.operation).toMatchObject({
      state: 'failed',
      answer: 'unknown',
      failure: { action: 'NODE_STATUS' },
    });
    expect(unread.machine.state).toBe('available');
    expect(await calls('load', 'silent')).toHaveLength(1);
    expect(await calls('power-off', 'silent')).toHaveLength(1);
  });

  it.concurrent('is removed with its machine, and the sweep does not touch it until then', async () => {
    const { add, operate } = ground;
    const { providerid } = await add('leaving');
    expect((await stack.client.sweep()).leaks.map((leak) => leak.providerid)).not.toContain(providerid);
    expect((await operate('leaving', { kind: 'remove' })).operation.state).toBe('done');
    expect((await stack.service.machines()).map(({ id }) => id)).not.toContain(providerid);
    await expect(
      stack.client.machines
        .add('wrong', { provider: 'none', flavor: 'tiny', image: 'host', fields: {}, system: null })
        .then(({ operation }) => ground.end('wrong', operation)),
    ).resolves.toMatchObject({
      operation: { state: 'failed', failure: { message: expect.stringContaining('has no provider "none"') } },
    });
  });
});
