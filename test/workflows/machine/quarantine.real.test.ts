import { beforeAll, describe, expect, it } from 'vitest';
import { heddleOn } from '../../harness/cli/run-heddle.js';
import { type Ground, host, openGround } from '../../harness/machine/ground.js';
import { type Stack, startStack } from '../../harness/stack.js';

describe('a machine that fails again and again', () => {
  let stack: Stack;
  let ground: Ground;

  beforeAll(async () => {
    stack = await startStack({ config: { quarantineAfter: 2 } });
    await stack.startWorker();
    ground = openGround(stack);
  });

  const { run, json } = heddleOn(() => stack);

  it('is quarantined, and is chosen again after the end of the quarantine', async () => {
    await Promise.all([ground.add('good'), ground.add('bad')]);
    const fault = await stack.service.arm({
      fault: 'http',
      status: 503,
      operation: 'power',
      hostname: 'machine-bad',
      count: 0,
    });
    const load = { kind: 'load', image: host, force: true, withinMs: 10_000 } as const;
    const first = await ground.operate('bad', load);
    expect(first).toMatchObject({ operation: { state: 'failed' } });
    expect(first.machine.quarantine).toBeUndefined();
    expect((await ground.operate('bad', load)).machine.quarantine).toMatchObject({
      by: 'heddle',
      comment: expect.stringContaining('2 consecutive operations failed; the last, operation 3: '),
    });
    expect((await run('machine', 'list')).stdout).toMatch(/^bad +available, quarantined/m);
    expect((await run('computers')).stdout).toMatch(/^bad .*available, quarantined/m);
    expect((await run('machine', 'show', 'bad')).stdout).toMatch(
      /\n {2}quarantined by heddle since .*: 2 consecutive operations failed/,
    );
    const create = ['reservation', 'create', 'host', '--user', 'ada', '--for', '1h'] as const;
    expect(await run(...create, '--count', '2')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('bad: it is quarantined: 2 consecutive operations failed'),
    });
    expect(await run('machine', 'remove', 'bad', '--yes')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("'heddle machine quarantine bad --end' to end it"),
    });
    await stack.service.release(fault);
    expect(await run('machine', 'power', 'bad', 'on')).toMatchObject({ code: 0 });
    expect(await run('machine', 'quarantine', 'bad', '--end')).toMatchObject({ code: 0 });
    expect((await json(...create, '--machine', 'bad'))['reservation']).toMatchObject({
      machines: [{ name: 'bad' }],
    });
  });

  it('is quarantined by people with a comment, also several at once', async () => {
    expect(await run('machine', 'quarantine', 'good')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('give the reason with --comment, or --end'),
    });
    expect(await run('machine', 'quarantine', 'goo*', '-m', 'a fan is loud')).toMatchObject({ code: 0 });
    expect(await stack.client.machines.show('good')).toMatchObject({
      state: 'available',
      quarantine: { comment: 'a fan is loud' },
    });
    expect(await run('machine', 'reserve', 'good', '--user', 'bob')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('quarantined: a fan is loud'),
    });
    expect(await run('machine', 'quarantine', 'good', '--end')).toMatchObject({ code: 0 });
    expect(await run('machine', 'quarantine', 'good', '--end')).toMatchObject({ code: 3 });
  });
});
