import { describe, expect, it } from 'vitest';
import { operateIntent } from '../../src/model/plan/intent/intent.js';

const check = (intent: unknown): string | undefined => operateIntent(intent, 'intent');

describe('an intent of unknown origin', () => {
  it.each([
    [{ kind: 'restart', services: ['web'], width: 2 }],
    [{ kind: 'stop', services: [] }],
    [{ kind: 'reconfigure', services: [], nodes: ['app-1'], restart: true }],
    [{ kind: 'replace', nodes: ['app-1'] }],
    [{ kind: 'exec', command: 'uptime', sudo: true, timeoutMs: 1_000 }],
    [{ kind: 'rollback' }],
  ])('is taken: %j', (intent) => {
    expect(check(intent)).toBeUndefined();
  });

  it.each([
    [null, 'intent: is null, and must be an object'],
    ['restart', 'intent: is text of 7 characters, and must be an object'],
    [[], 'intent: is a list of 0, and must be an object'],
    [{}, 'intent.kind: is missing'],
    [{ kind: 'apply' }, 'intent.kind: is text of 5 characters, and must be one of rollback, scale, start'],
    [{ kind: 'delete' }, 'intent.kind: is text of 6 characters'],
    [{ kind: 'restart' }, 'intent.services: is missing, and must be a list'],
    [{ kind: 'restart', services: 'web' }, 'intent.services: is text of 3 characters, and must be a list'],
    [{ kind: 'restart', services: [1] }, 'intent.services[0]: is 1, and must be text'],
    [{ kind: 'restart', services: ['web'], width: 0 }, 'intent.width: is 0'],
    [{ kind: 'restart', services: ['web'], width: 1.5 }, 'intent.width: is 1.5'],
    [{ kind: 'restart', services: ['web'], nodes: [] }, 'intent.nodes: is a list of 0'],
    [{ kind: 'restart', services: [], node: ['app-1'] }, 'intent.node: is not a field'],
    [{ kind: 'replace', nodes: [] }, 'intent.nodes: is a list of 0'],
    [{ kind: 'exec' }, 'intent.command: is missing'],
    [{ kind: 'exec', command: '  ' }, 'intent.command: is blank'],
    [{ kind: 'exec', command: 'x'.repeat(70_000) }, 'intent.command: is text of 70000 characters'],
    [{ kind: 'exec', command: 'true', timeoutMs: -1 }, 'intent.timeoutMs: is -1'],
    [{ kind: 'exec', command: 'true', sudo: 'yes' }, 'intent.sudo: is text of 3 characters'],
  ])('is refused in words: %j', (intent, words) => {
    expect(check(intent)).toContain(words);
  });
});
