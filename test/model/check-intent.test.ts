import { describe, expect, it } from 'vitest';
import { checkIntent, checkWidth } from '../../src/model/plan/intent/check-intent.js';

describe('an intent of unknown origin', () => {
  it.each([
    [{ kind: 'restart', services: ['web'], width: 2 }],
    [{ kind: 'stop', services: [] }],
    [{ kind: 'reconfigure', services: [], nodes: ['app-1'], restart: true }],
    [{ kind: 'replace', nodes: ['app-1'] }],
    [{ kind: 'exec', command: 'uptime', sudo: true, timeoutMs: 1_000 }],
    [{ kind: 'rollback' }],
  ])('is taken: %j', (intent) => {
    expect(checkIntent(intent)).toBeUndefined();
  });

  it.each([
    [null, 'intent: must be an object'],
    ['restart', 'intent: must be an object'],
    [[], 'intent: must be an object'],
    [{}, 'intent.kind: is missing'],
    [{ kind: 'apply' }, 'intent.kind: is "apply"'],
    [{ kind: 'delete' }, 'intent.kind: is "delete"'],
    [{ kind: 'restart' }, 'intent.services: must be a list'],
    [{ kind: 'restart', services: 'web' }, 'intent.services: must be a list'],
    [{ kind: 'restart', services: [1] }, 'intent.services: must be a list'],
    [{ kind: 'restart', services: ['web'], width: 0 }, 'width: is 0'],
    [{ kind: 'restart', services: ['web'], width: 1.5 }, 'width: is 1.5'],
    [{ kind: 'restart', services: ['web'], nodes: [] }, 'intent.nodes: must be a list of at least 1'],
    [{ kind: 'replace', nodes: [] }, 'intent.nodes: must be a list of at least 1'],
    [{ kind: 'exec' }, 'intent.command: is empty'],
    [{ kind: 'exec', command: '  ' }, 'intent.command: is empty'],
    [{ kind: 'exec', command: 'x'.repeat(70_000) }, 'intent.command: has 70000 characters'],
    [{ kind: 'exec', command: 'true', timeoutMs: -1 }, 'intent.timeoutMs: is -1'],
    [{ kind: 'exec', command: 'true', sudo: 'yes' }, 'intent.sudo: is "yes"'],
  ])('is refused in words: %j', (intent, words) => {
    expect(checkIntent(intent)).toContain(words);
  });

  it('a width is a number of nodes', () => {
    expect([undefined, 1, 100].map(checkWidth)).toEqual([undefined, undefined, undefined]);
    expect(checkWidth('2')).toBe(
      'width: is "2"; it must be the number of nodes that are disturbed at once, 1 or more',
    );
  });
});
