import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createPool, type ConnectionPool } from '../../src/ssh/pool.js';
import { findCommand, writeCommand } from '../harness/node-bin.js';
import { countLines, runOn } from '../harness/run-fixture.js';
import { startNode, type TestNode } from '../harness/ssh-server.js';
import { newFolder } from '../harness/folder.js';

let node: TestNode;
let pool: ConnectionPool;
let bin: string;
beforeEach(async () => {
  bin = newFolder();
  node = await startNode({ env: { PATH: `${bin}:/usr/bin:/bin` } });
  pool = createPool();
});
afterEach(async () => {
  await pool.closeAll();
  await node.close();
});

/**
 * The node's nth call of a command kills the whole process group that called it, before or after the command
 * did its work.
 */
function killAt(command: string, nth: number, when: 'before' | 'after'): void {
  const real = findCommand(command) ?? '';
  const strike = `if [ "$(wc -l < "${bin}/${command}.calls")" -eq ${nth} ]; then kill -s KILL 0; fi`;
  const act =
    when === 'before' ? `${strike}\nexec ${real} "$@"` : `${real} "$@"; code=$?\n${strike}\nexit $code`;
  writeCommand(bin, command, `#!/bin/sh\necho x >> "${bin}/${command}.calls"\n${act}\n`);
}

// Its own sleep and cat are not the node's commands that are counted.
const script = { text: 'echo x >> "$HOME/count"; /bin/cat; echo done', stdin: 'input\n' };
/** Long enough for its output to be streamed. */
const longScript = { ...script, text: `${script.text.replace('echo done', '/bin/sleep 0.9')}; echo done` };

describe('what reports a run, killed at any point, is started again and the script is executed once', () => {
  test.each([
    ['mkdir', 1, 'before', script],
    ['mkdir', 1, 'after', script],
    ['setsid', 1, 'before', script],
    ['cat', 1, 'before', script],
    ['cat', 1, 'after', script],
    ['sleep', 1, 'before', longScript],
    ['sleep', 2, 'after', longScript],
    ['ls', 1, 'before', longScript],
    ['ls', 2, 'before', longScript],
    ['ls', 2, 'after', longScript],
    ['dd', 1, 'before', longScript],
    ['dd', 1, 'after', longScript],
    ['dd', 2, 'before', longScript],
    ['dd', 2, 'after', longScript],
  ] as const)('%s %i, %s it works', async (command, nth, when, given) => {
    killAt(command, nth, when);
    expect(await runOn(node, pool, 'killed', given)).toMatchObject({
      reason: 'exit',
      exitCode: 0,
      stdout: 'input\ndone\n',
    });
    expect(countLines(join(node.home, 'count'))).toBe(1);
    expect(countLines(join(bin, `${command}.calls`))).toBeGreaterThanOrEqual(nth);
  });
});

describe('the supervisor, killed at any point, is not a success, and the script is not executed again', () => {
  test.each([
    ['sync', 1, 'before', 0],
    ['sync', 1, 'after', 0],
    ['setsid', 2, 'before', 0],
    ['rm', 1, 'before', 1],
    ['rm', 1, 'after', 1],
  ] as const)('%s %i, %s it works', async (command, nth, when, executions) => {
    killAt(command, nth, when);
    expect(await runOn(node, pool, 'killed', script)).toMatchObject({ reason: 'died', exitCode: undefined });
    expect(await runOn(node, pool, 'killed', script)).toMatchObject({ reason: 'died' });
    expect(countLines(join(node.home, 'count'))).toBe(executions);
  });

  test('a recorded exit code is the outcome', async () => {
    killAt('cat', 1, 'before');
    expect(await runOn(node, pool, 'killed', script)).toMatchObject({
      reason: 'exit',
      exitCode: 0,
      stdout: 'input\ndone\n',
    });
    expect(countLines(join(node.home, 'count'))).toBe(1);
  });
});

test('a supervisor that is killed before its claim is sent again', async () => {
  writeCommand(
    bin,
    'setsid',
    `#!/bin/sh\necho x >> "${bin}/calls"\n[ "$(wc -l < "${bin}/calls")" -eq 1 ] && exit 137\nexec ${findCommand('setsid')} "$@"\n`,
  );
  expect(await runOn(node, pool, 'early', script)).toMatchObject({ reason: 'exit', exitCode: 0 });
  expect(countLines(join(node.home, 'count'))).toBe(1);
});
