import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { exportKeys } from '../../src/secrets/keys.js';
import { type Ended, runHeddle } from '../harness/cli/run-heddle.js';
import { startStack, type Stack } from '../harness/stack.js';

// Through the command line, as a person or a script of theirs would, against a real server.
let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
});

function run(...words: readonly string[]): Promise<Ended> {
  return runHeddle(words, {
    distPath: inject('distPath'),
    cwd: stack.folder,
    env: {
      HEDDLE_DATA_FOLDER: join(stack.folder, 'data'),
      HEDDLE_KEYS: exportKeys(join(stack.folder, 'keys')),
      TEMPORAL_ADDRESS: inject('temporalAddress'),
      TEMPORAL_NAMESPACE: stack.namespace,
    },
  });
}

describe('names on the command line', () => {
  it.each<readonly [string, readonly string[], RegExp]>([
    ['an option of ssh', ['ssh', '-oProxyCommand=touch proof', 'app-1'], /unknown option|Usage|error/i],
    [
      'an option of ssh after --',
      ['ssh', '--', '-oProxyCommand=touch proof', 'app-1', 'true'],
      /-oProxyCommand=touch proof/,
    ],
    ['a command in a name', ['status', '$(touch proof)'], /\$\(touch proof\)/],
    ['a command in backticks', ['delete', '`touch proof`', '--yes'], /touch proof|unknown option/],
    ['a path', ['logs', '../../etc'], /\.\.\/\.\.\/etc/],
    ['a line break and a colour', ['nodes', 'web\n\u001b[31mdone: all is well\u202e'], /web/],
    ['nothing', ['status', ''], /\S/],
    ['500 characters', ['status', 'a'.repeat(500)], /a{20}/],
  ])('that are %s are told apart and do nothing', async (_, words, expected) => {
    const { code, stderr } = await run(...words);
    expect(code).toBeGreaterThan(0);
    expect(stderr).toMatch(expected);
    // No line of ours that somebody else wrote, and nothing that a terminal obeys.
    expect(stderr).not.toMatch(/^done/m);
    expect(stderr).not.toMatch(/[^\P{Cc}\n\t]|\u202e/u);
    expect(stderr).not.toMatch(/^\s+at .*\(/m);
    expect(await readdir(stack.folder)).not.toContain('proof');
  });

  it('create nothing', async () => {
    expect(await stack.client.list()).toEqual([]);
    expect(await stack.service.machines()).toEqual([]);
    expect(await stack.service.journal('create')).toEqual([]);
  });
});
