import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { clusterMessages } from '../../src/workflows/messages.js';
import { clusterWorkflowId } from '../../src/model/names.js';
import { heddleOn } from '../harness/cli/run-heddle.js';
import { hasTerminal, type OnTerminal, startOnTerminal } from '../harness/cli/terminal.js';
import { type Stack, startStack } from '../harness/stack.js';
import { closed, nodes } from '../harness/workflows/spec.js';

describe('commands that destroy machines', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack();
    await stack.startWorker();
  });

  const { run, json } = heddleOn(() => stack);
  const specOf = (name: string, count: number, more: object = {}): object => ({
    name,
    nodes: { app: nodes(count, ['web']) },
    services: { web: { actions: { start: { type: 'shell', fields: { script: 'true' } } } } },
    ...more,
  });
  const make = async (spec: object): Promise<void> => {
    const wanted = closed(spec);
    const { operation } = await stack.client.apply(wanted);
    expect((await stack.client.waitFor(wanted.name, operation)).operation.state).toBe('done');
  };
  const onTerminal = (words: readonly string[]): OnTerminal =>
    startOnTerminal(words, {
      cwd: stack.folder,
      env: {
        HEDDLE_CONFIG: join(stack.folder, 'worker.yaml'),
        TEMPORAL_ADDRESS: inject('temporalAddress'),
        TEMPORAL_NAMESPACE: stack.namespace,
      },
    });
  const question = 'Delete cluster kept (2 nodes with machines and disks: app-1, app-2; services web)?';

  it('ask on a terminal, and show what a cluster would lose', async ({ skip }) => {
    skip(!hasTerminal, 'there is no program script, of util-linux');
    await make(specOf('kept', 2));
    const refused = onTerminal(['delete', 'kept']);
    await refused.answer(`${question} [y/N]`, 'n\r');
    expect(await refused.ended).toBe(3);
    expect(refused.shown()).toContain('nothing was changed');
    expect(await stack.service.machines()).toHaveLength(2);
    const confirmed = onTerminal(['delete', 'kept']);
    await confirmed.answer(`${question} [y/N]`, 'y\r');
    expect(await confirmed.ended).toBe(0);
    expect(await stack.service.machines()).toHaveLength(0);
  });

  it('need --yes without a terminal, and repeat the question', async () => {
    await make(specOf('kept', 2));
    const refused = await run('delete', 'kept');
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toContain(`${question} This needs a terminal to confirm`);
    expect(await run('delete', 'kept', '--json')).toMatchObject({ code: 2 });
    expect(await run('delete', 'nosuch')).toMatchObject({ code: 4 });
    expect(await stack.service.machines()).toHaveLength(2);
    expect(await run('delete', 'kept', '--yes')).toMatchObject({ code: 0 });
    await make(specOf('empty', 1));
    expect(await run('delete', 'empty', '-y', '--no-wait')).toMatchObject({ code: 0 });
  });

  it('a locked cluster refuses them from the command line and from programs until it is unlocked', async () => {
    await make(specOf('locked', 1, { lock: true }));
    const { client } = stack;
    for (const words of [
      ['delete', 'locked'],
      ['delete', 'locked', '--yes'],
      ['replace', 'locked', 'app-1'],
    ])
      expect(await run(...words), words.join(' ')).toMatchObject({
        code: 3,
        stderr: expect.stringMatching(/cluster locked is locked by its file[^]*remove 'lock: true'/),
      });
    await expect(client.delete('locked')).rejects.toThrow('is locked by its file');
    await expect(client.operate('locked', { kind: 'replace', nodes: ['app-1'] })).rejects.toThrow(
      'is locked by its file',
    );
    await client.temporal.workflow
      .getHandle(clusterWorkflowId('locked'))
      .signal(clusterMessages.signals.requestDelete, { by: 'a caller without an answer' });
    expect(await run('machine', 'load', 'locked/app-1', 'host')).toMatchObject({
      stdout: expect.stringContaining('is locked by its file'),
    });
    expect(await run('status', 'locked')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/locked by its file[^]*app-1 +ready/),
    });
    await make(specOf('locked', 1));
    expect(await run('delete', 'locked', '--yes')).toMatchObject({ code: 0 });
  });

  it('name the disks that their plan loses', async () => {
    await make(specOf('disks', 3));
    const file = join(stack.folder, 'disks.yaml');
    await writeFile(file, JSON.stringify(specOf('disks', 1)));
    const texts = await Promise.all([
      run('plan', file),
      run('replace', 'disks', 'app-2', '--plan'),
      run('delete', 'disks', '--plan'),
    ]);
    expect(texts.map(({ stdout }) => stdout.trimEnd().split('\n').at(-1))).toEqual([
      expect.stringMatching(
        /^Plan: 2 nodes to remove; .* The machines, disks and addresses of app-2, app-3 are lost\.$/,
      ),
      expect.stringMatching(
        /^Plan: 1 node to replace; .* The machine, disk and address of app-2 are lost\.$/,
      ),
      expect.stringMatching(
        /^Plan: 3 nodes to remove; .* The machines, disks and addresses of app-1 to app-3 are lost\.$/,
      ),
    ]);
    expect(await json('plan', file)).toMatchObject({ lostDisks: ['app-2', 'app-3'] });
    const lost = 'Continue with apply of disks? The machines, disks and addresses of app-2, app-3 are lost.';
    expect(await run('apply', file)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(`${lost} This needs a terminal to confirm`),
    });
    expect(await run('apply', file, '--json')).toMatchObject({ code: 2 });
    expect(await run('replace', 'disks', 'app-2')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('The machine, disk and address of app-2 are lost.'),
    });
    expect(await run('replace', 'disks', 'app-2', '--queue')).toMatchObject({ code: 2 });
    expect(await stack.service.machines()).toHaveLength(3);
    if (hasTerminal) {
      const refused = onTerminal(['apply', file]);
      await refused.answer(`${lost} [y/N]`, 'n\r');
      expect(await refused.ended).toBe(3);
      expect(refused.shown()).toContain('- remove app-2, app-3 (2 nodes): the count of app is 1');
      expect(await stack.service.machines()).toHaveLength(3);
    }
    expect(await run('apply', file, '--yes')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('The machines, disks and addresses of app-2, app-3 are lost.'),
    });
    await writeFile(file, JSON.stringify(specOf('disks', 2)));
    expect(await run('apply', file)).toMatchObject({ code: 0 });
    expect(await run('rollback', 'disks')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('The machine, disk and address of app-2 are lost.'),
    });
    expect(await run('delete', 'disks', '--yes')).toMatchObject({ code: 0 });
  });
});
