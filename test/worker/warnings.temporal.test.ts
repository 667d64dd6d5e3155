import { afterAll, expect, inject, test } from 'vitest';
import { startStack, type Stack } from '../harness/stack.js';

const stacks: Stack[] = [];
afterAll(async () => {
  for (const stack of stacks) await stack.stop();
});

async function outputOf(config: object): Promise<string> {
  const stack = await startStack({
    temporalAddress: inject('temporalAddress'),
    distPath: inject('distPath'),
    config: { ...config },
  });
  stacks.push(stack);
  return (await stack.startWorker()).output();
}

const ansible = { automators: { ansible: { fields: { program: '/usr/bin/ansible-playbook' } } } };

// Promise: playbook-warning
test('a worker warns at its start that playbooks bypass secrets.allow', async () => {
  const warning = 'secrets.allow does not hold for automator ansible';
  expect(await outputOf({ ...ansible, secrets: { allow: [] } })).toContain(warning);
  expect(await outputOf({ secrets: { allow: [] } })).not.toContain(warning);
  expect(await outputOf(ansible)).not.toContain(warning);
});
