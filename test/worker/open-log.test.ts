import { ApplicationFailure } from '@temporalio/common';
import { expect, test } from 'vitest';
import { attributesOf } from '../../src/worker/open-log.js';

test('a line about a failed task has its kind and no stack, and never the token that completes the task', () => {
  const error = ApplicationFailure.create({ message: 'exit code 3', type: 'ScriptFailed', details: ['x'] });
  expect(
    attributesOf({ workflowId: 'cluster/web', taskToken: 'secret', activityType: 'START', error }),
  ).toEqual({ workflow: 'cluster/web', activity: 'START', reason: 'exit code 3', kind: 'ScriptFailed' });
});

test('a line about a fault has the stacks of the error and of its cause', () => {
  const error = new Error('outer', { cause: new Error('inner') });
  const { stack } = attributesOf({ error });
  expect(stack).toMatch(/Error: outer[\s\S]*caused by Error: inner/);
  expect(attributesOf({ error: 'only a text', constructor: 1 })).toEqual({
    reason: 'only a text',
    constructor: 1,
  });
});
