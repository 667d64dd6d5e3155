import { afterEach, beforeEach, expect, test } from 'vitest';
import { createPool, type ConnectionPool } from '../../src/ssh/pool.js';
import { runOnce } from '../../src/ssh/run.js';
import { startNode, type TestNode } from '../support/ssh-server.js';

let node: TestNode;
let pool: ConnectionPool;
beforeEach(async () => {
  node = await startNode();
  pool = createPool();
});
afterEach(async () => {
  await pool.closeAll();
  await node.close();
});

test('runs a script', async () => {
  const t0 = performance.now();
  for (let i = 0; i < 5; i++) {
    const t = performance.now();
    const end = await runOnce(
      { runId: `uid/app-1#1/web/INSTALL/op.1.${i}`, script: { text: 'echo hello; cat; echo "$FOO" >&2; echo k=v > "$HEDDLE_RESULT"; exit 3', stdin: 'input\n', environment: { FOO: `a'b c` } } },
      { connect: () => pool.acquire(node.target) },
    );
    console.log(end, performance.now() - t);
    expect(end).toMatchObject({ reason: 'exit', exitCode: 3, stdout: 'hello\ninput\n', stderr: `a'b c\n` });
  }
  console.log(performance.now() - t0);
}, 30_000);
