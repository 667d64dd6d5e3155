import { afterAll, expect, inject, test } from 'vitest';
import { join } from 'node:path';
import { isPolled } from '../../src/client/workers.js';
import { coreQueue } from '../../src/model/names.js';
import { startStack, type Stack } from '../harness/stack.js';

const stacks: Stack[] = [];
afterAll(async () => {
  for (const stack of stacks) await stack.stop();
});

async function outputOf(config: object): Promise<string> {
  const stack = await startStack({ config: { ...config } });
  stacks.push(stack);
  return (await stack.startWorker()).output();
}

test('a worker warns of nothing at a normal start, whatever its role and site', async () => {
  const stack = await startStack({
    accounts: { second: 'service', elsewhere: 'service' },
    config: { site: 'lab' },
  });
  stacks.push(stack);
  for (const started of [await stack.startWorker(), await stack.startBuilder()]) {
    await started.stop();
    const lines = started.output().trim().split('\n');
    const warnings = lines.filter((line) => (JSON.parse(line) as { level: string }).level !== 'info');
    expect(warnings).toEqual([]);
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      worker: expect.stringMatching(/^\d+@/),
      site: 'lab',
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      msg: 'worker has ended',
    });
  }
});

const ansible = { automators: { ansible: { fields: { program: '/usr/bin/ansible-playbook' } } } };

// Promise: playbook-warning
test('a worker warns at its start that playbooks bypass secrets.allow', async () => {
  const warning = 'secrets.allow does not restrict automator ansible';
  expect(await outputOf({ ...ansible, secrets: { allow: [] } })).toContain(warning);
  expect(await outputOf({ secrets: { allow: [] } })).not.toContain(warning);
  expect(await outputOf(ansible)).not.toContain(warning);
});

test('a worker of another site does not report the account of pools as different', async () => {
  const server = { temporalAddress: inject('temporalAddress'), distPath: inject('distPath') };
  const one = await startStack(server);
  stacks.push(one);
  await one.startWorker();
  expect(await isPolled(one.client.temporal, coreQueue)).toBe(true);
  const other = await startStack({
    ...server,
    namespace: one.namespace,
    config: { site: 'two', keys: { folder: join(one.folder, 'keys') } },
  });
  stacks.push(other);
  const output = (await other.startWorker()).output();
  expect(output).toContain('provider local differs');
  expect(output).not.toContain('provider pool differs');
});
