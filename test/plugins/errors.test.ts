import { expect, it } from 'vitest';
import { PluginError, wrapError } from '../../src/plugins/errors.js';
import { openLink } from '../../src/ssh/jump.js';

const failure = new PluginError('Auth', 'refused', {
  cause: new Error('401'),
  retryAfterMs: 7,
  result: { providerid: 'm-1' },
  stdout: 'out',
  stderr: 'err',
  exitCode: 3,
  remedy: 'correct the key',
});

it('a failure that is wrapped keeps every field, and becomes the cause', () => {
  const wrapped = wrapError(failure, 'step two: refused');
  expect(Object.entries(wrapped)).toEqual(Object.entries(failure));
  expect(wrapped).toMatchObject({ message: 'step two: refused', cause: failure });
  expect(wrapError(failure, 'refused', 'UnknownOutcome')).toMatchObject({
    kind: 'UnknownOutcome',
    remedy: 'correct the key',
  });
});

it('a login that the jump host refuses keeps its remedy', async () => {
  const target = { host: '192.0.2.1', port: 22, user: 'root' };
  await expect(openLink(target, Promise.reject(failure), () => undefined)).rejects.toMatchObject({
    message: 'jump host of 192.0.2.1: refused',
    remedy: 'correct the key',
  });
});
