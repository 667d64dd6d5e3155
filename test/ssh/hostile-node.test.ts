import { describe, expect, test } from 'vitest';
import { endOf } from '../../src/ssh/follow.js';
import { parseResults } from '../../src/ssh/results.js';
import { RunProgress } from '../../src/ssh/run-progress.js';

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
