import { readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { heddleOn } from '../harness/cli/run-heddle.js';
import { type Stack, startStack } from '../harness/stack.js';
import { openLedger, type Ledger } from '../harness/workflows/ledger.js';
import { nodes } from '../harness/workflows/spec.js';

describe('a saved plan', () => {
  let stack: Stack;
  let ledger: Ledger;
  beforeAll(async () => {
    stack = await startStack();
    ledger = openLedger(stack.folder);
    await stack.startWorker();
  });

  const { run } = heddleOn(() => stack);
  const pathOf = (name: string): string => join(stack.folder, name);

  async function write(
    name: string,
    count: number,
    config: object = {},
    more: object = {},
    { start: startScript = 'test -n "$TOKEN"', stop: stopScript = 'true' } = {},
  ): Promise<string> {
    const file = pathOf(`${name}.yaml`);
    const action = (script: string): object => ({
      type: 'shell',
      fields: { script, ...(script.includes('TOKEN') ? { environment: { TOKEN: '${{ var.token }}' } } : {}) },
    });
    const spec = {
      name,
      variables: { token: { secret: true } },
      nodes: { app: nodes(count, ['app']) },
      services: {
        app: {
          actions: { configure: ledger.script(), start: action(startScript), stop: action(stopScript) },
        },
      },
      config,
      ...more,
    };
    await writeFile(file, JSON.stringify(spec));
    return file;
  }

  async function machinesOf(name: string): Promise<number> {
    const all = await stack.service.machines();
    return all.filter(({ hostname }) => String(hostname).startsWith(`${name}-`)).length;
  }

  const token = ['--var', 'token=hush-hush'] as const;

  it('is carried out once, as it was shown, without a question', async () => {
    const file = await write('web', 2);
    const plan = pathOf('web.plan');
    expect(await run('plan', file, '--out', plan, ...token)).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(`saved; next: heddle apply ${plan}`),
    });
    expect((await stat(plan)).mode & 0o777).toBe(0o600);
    expect(await readFile(plan, 'utf8')).not.toContain('hush-hush');
    expect(await run('apply', plan)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('variables.token: has no value'),
    });
    expect(await run('apply', plan, ...token)).toMatchObject({ code: 0 });
    expect(await machinesOf('web')).toBe(2);
    expect(await run('apply', plan, ...token)).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(
        /not what apply would do now, and nothing was changed\nsaved .*: Plan: 2 nodes to create; .*\nnow: .*\nsince then: operation 1 \(apply\) by .*: done\nnext: heddle plan .*web.yaml --out .*web.plan/,
      ),
    });
    await write('web', 1);
    expect(await run('plan', file, '--out', plan, ...token)).toMatchObject({ code: 0 });
    expect(await run('apply', plan, ...token)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('The machine, disk and address of app-2 are lost.'),
    });
    expect(await machinesOf('web')).toBe(1);
  });

  it('is refused with other values, other options and other machines', async () => {
    const file = await write('other', 1);
    const plan = pathOf('other.plan');
    expect(await run('apply', file, ...token)).toMatchObject({ code: 0 });
    await write('other', 2, { colour: 'red' });
    expect(await run('plan', file, '--out', plan, '--rolling', '1', ...token)).toMatchObject({ code: 0 });
    expect(await run('apply', plan, '--var', 'token=another')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('No operation began since'),
    });
    expect(await run('apply', plan, '--nodes', 'app-1', ...token)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('is a saved plan, which --nodes would change'),
    });
    const machine = (await stack.service.machines()).find(({ hostname }) => hostname === 'other-app-1');
    await stack.service.call('DELETE', `/v1/machines/${String(machine?.id)}`);
    // The loss of the machine is found by the operation itself, before it does anything.
    expect(await run('apply', plan, ...token)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('the saved plan is not what would be done now'),
    });
    expect(await machinesOf('other')).toBe(0);
    expect(await run('plan', file, '--out', plan, ...token)).toMatchObject({ code: 0 });
    expect(await run('apply', plan, ...token)).toMatchObject({ code: 0 });
    expect(await machinesOf('other')).toBe(2);
  });

  it('is refused if others changed the file, or made the cluster anew, even where the tasks are the same', async () => {
    const file = await write('both', 2);
    const plan = pathOf('both.plan');
    expect(await run('apply', file, ...token)).toMatchObject({ code: 0 });
    await write('both', 1);
    expect(await run('plan', file, '--out', plan, ...token)).toMatchObject({ code: 0 });
    // It has no task.
    await write('both', 2, {}, { onFailure: 'continue' });
    expect(await run('apply', file, ...token)).toMatchObject({ code: 0 });
    const refused = { code: 3, stderr: expect.stringContaining('since then: operation 2 (apply)') };
    expect(await run('apply', plan, ...token)).toMatchObject(refused);
    await write('both', 2);
    expect(await run('apply', file, ...token)).toMatchObject({ code: 0 });
    await write('both', 1);
    expect(await run('plan', file, '--out', plan, ...token)).toMatchObject({ code: 0 });
    expect(await run('delete', 'both', '--yes')).toMatchObject({ code: 0 });
    await write('both', 2);
    expect(await run('apply', file, ...token)).toMatchObject({ code: 0 });
    expect(await run('apply', plan, ...token)).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('The cluster was deleted since, or is another one.'),
    });
    expect(await machinesOf('both')).toBe(2);
  });

  it('is refused if its spec was edited, or a secret that only later tasks use is another one', async () => {
    const file = await write('edit', 1, {}, {}, { stop: 'test -n "$TOKEN"', start: 'true' });
    const plan = pathOf('edit.plan');
    expect(await run('plan', file, '--out', plan, ...token)).toMatchObject({ code: 0 });
    expect(await run('apply', plan, '--plan', '--var', 'token=another')).toMatchObject({ code: 3 });
    expect(await run('apply', plan, '--plan', ...token)).toMatchObject({ code: 0 });
    await writeFile(
      plan,
      (await readFile(plan, 'utf8')).replace('"onFailure":"hold"', '"onFailure":"continue"'),
    );
    expect(await run('apply', plan, '--plan', ...token)).toMatchObject({ code: 3 });
  });

  it('replaces no file but another saved plan', async () => {
    const file = await write('over', 1);
    const text = await readFile(file, 'utf8');
    expect(await run('plan', file, '--out', file, ...token)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('exists, and is not a saved plan'),
    });
    expect(await readFile(file, 'utf8')).toBe(text);
    const device = join(stack.folder, 'device');
    await symlink('/dev/null', device);
    expect(await run('plan', file, '--out', device, ...token)).toMatchObject({ code: 2 });
    const plan = pathOf('over.plan');
    for (let count = 0; count < 2; count += 1)
      expect(await run('plan', file, '--out', plan, ...token)).toMatchObject({ code: 0 });
    expect(await run('plan', plan)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('is a saved plan'),
    });
    expect(await run('apply', plan, '--var', 'colour=red', ...token)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--var colour cannot change it'),
    });
  });

  it('is refused if it is damaged, and reported if it cannot be written', async () => {
    const file = await write('cut', 1);
    const plan = pathOf('cut.plan');
    await run('plan', file, '--out', plan, ...token);
    await writeFile(plan, (await readFile(plan, 'utf8')).slice(0, 200));
    expect(await run('apply', plan, ...token)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`${plan} is damaged, or was saved by another version`),
    });
    expect(await run('plan', file, '--out', join(stack.folder, 'none', 'plan'), ...token)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/the plan cannot be saved as .*none\/plan: /),
    });
  });
});
