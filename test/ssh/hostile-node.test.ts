import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { RunOutcome } from '../../src/plugins/contract.js';
import { endOf } from '../../src/ssh/follow.js';
import { createPool, type ConnectionPool } from '../../src/ssh/pool.js';
import { parseResults } from '../../src/ssh/results.js';
import { RunProgress } from '../../src/ssh/run-progress.js';
import { createShell } from '../../src/ssh/shell.js';
import { startNode, type TestNode } from '../harness/ssh-server.js';
import { newFolder } from '../harness/folder.js';

// Promise: outcomes-out-of-reach
describe('a run reported by a node', () => {
  test.each(['0', '7', '255'])('is taken as exit code %s', (code) => {
    expect(endOf('exit', code, new RunProgress({}))).toMatchObject({
      reason: 'exit',
      exitCode: Number(code),
    });
  });

  test.each(['256', '-1', '1e3', '0x0', '', '0000', '99999999999999999999', undefined])(
    'has no exit code and no success if it is %j',
    (code) => {
      expect(endOf('exit', code, new RunProgress({}))).toMatchObject({ reason: 'died', exitCode: undefined });
    },
  );

  test('is kept in memory up to the limit of results, and then refused for its size', async () => {
    const progress = new RunProgress({});
    for (let sent = 0; sent < 64; sent += 1)
      await progress.add({ kind: 'output', stream: 'result', chunk: Buffer.alloc(65_536, 'x') });
    const { result } = progress.end('exit', 0);
    expect(result.length).toBe(8 * 1024 + 1);
    expect(() => parseResults(result)).toThrow('more than 8192 bytes');
  });
});

/**
 * In place of the login shell: reads the nonce out of the program that it is sent, and reports what it likes.
 */
const forger = `
let read = '';
process.stdin.on('data', (chunk) => {
  read += chunk;
  const [, nonce] = /^nonce=([0-9a-f]+)$/m.exec(read) ?? [];
  if (nonce === undefined) return;
  process.stdin.removeAllListeners('data').resume();
  const [end, result] = process.argv.slice(2);
  process.stdout.write(nonce + ' hello\\n' + nonce + ' claimed\\n');
  if (result !== '0') process.stdout.write(nonce + ' R\\n' + 'x'.repeat(Number(result)) + '\\n');
  process.stdout.write(nonce + ' ' + end + '\\n', () => process.exit());
});
`;

// Promise: outcomes-out-of-reach
describe('a node that speaks for the program that it was sent', () => {
  let folder: string;
  let node: TestNode;
  let pool: ConnectionPool;
  beforeAll(() => {
    folder = newFolder();
    writeFileSync(join(folder, 'forger.cjs'), forger);
  });
  beforeEach(async () => {
    node = await startNode();
    pool = createPool();
  });
  afterEach(async () => {
    await pool.closeAll();
    await node.close();
  });

  function run(end: string, resultBytes = 0): Promise<RunOutcome> {
    node.faults.loginShell = [process.execPath, join(folder, 'forger.cjs'), end, String(resultBytes)];
    const { signal } = new AbortController();
    const shell = createShell({ pool, target: node.target, runId: 'run', signal });
    return shell.run({ text: 'exit 3' });
  }

  test('may say how its script ended', async () => {
    await expect(run('end exit 0')).resolves.toMatchObject({ exitCode: 0 });
  });

  test.each(['256', '-1', '0x0', '', '1e3', '99999999999999999999'])(
    'has a script succeed or fail by no exit code %j',
    async (code) => {
      await expect(run(`end exit ${code}`)).rejects.toMatchObject({ name: 'PluginError' });
    },
  );

  test('has no results taken that are larger than the limit', async () => {
    await expect(run('end exit 0', 4 * 1024 * 1024)).rejects.toMatchObject({
      kind: 'ScriptFailed',
      message: expect.stringContaining('more than 8192 bytes') as string,
    });
  });

  test('has no results taken that are not lines of keys and values', async () => {
    await expect(run('end exit 0', 10)).rejects.toMatchObject({
      kind: 'ScriptFailed',
      message: expect.stringContaining('is not key=value') as string,
    });
  });
});
