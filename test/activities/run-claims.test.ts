import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openBench, request, type Bench } from '../harness/activities/parts.js';
import { countLines } from '../harness/run-fixture.js';
import { startNode, type TestNode } from '../harness/ssh-server.js';

let bench: Bench;
let node: TestNode;
beforeAll(async () => {
  bench = await openBench('async create() {} async confirm() {} async delete() {}');
  node = await startNode();
});
afterAll(async () => {
  await bench.close();
  await node.close();
});

const execOf = (taskId: string) => {
  const { host, port, user, password, hostKey } = node.target;
  return request(
    {},
    {
      taskId,
      command: { text: 'echo x >> "$HOME/count"', timeoutMs: 20_000 },
      config: {
        hostname: 'web-app-1',
        ipaddress: host,
        'ssh-port': port,
        'ssh-host-key': hostKey,
        'ssh-auth': { user, password: password ?? '' },
      },
    },
  );
};

test('an attempt whose predecessor learnt of a claim starts nothing on a node that shows none', async () => {
  const task = execOf('u/app-1#1/-/EXEC/1');
  await expect(
    bench.run('EXEC', task, 2, { step: 'x', claims: ['u/app-1#1/-/EXEC/1.1'] }),
  ).rejects.toMatchObject({ type: 'UnknownOutcome', nonRetryable: true });
  expect(existsSync(join(node.home, 'count'))).toBe(false);
  // Another run of the task is not affected.
  await bench.run('EXEC', { ...task, run: 2 }, 2, { step: 'x', claims: ['u/app-1#1/-/EXEC/1.1'] });
  expect(countLines(join(node.home, 'count'))).toBe(1);
});
