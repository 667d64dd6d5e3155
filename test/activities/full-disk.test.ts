import { afterAll, beforeAll, expect, test } from 'vitest';
import { openBench, request, type Bench } from '../harness/activities/parts.js';
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

let count = 0;
const exec = (text: string) => {
  const { host, port, user, password, hostKey } = node.target;
  const config = {
    hostname: 'web-app-1',
    ipaddress: host,
    'ssh-port': port,
    'ssh-host-key': hostKey,
    'ssh-auth': { user, password: password ?? '' },
  };
  const taskId = `u/app-1#1/-/EXEC/${(count += 1)}`;
  return bench.run('EXEC', request({}, { taskId, command: { text, timeoutMs: 20_000 }, config }));
};

test.each([
  ['on stderr', 'dd if=/dev/zero of=/dev/full count=1'],
  ['on stdout', 'dd if=/dev/zero of=/dev/full count=1 2>&1'],
])(
  'a command that fails on a full disk other than that of the home is reported as such: %s',
  async (_, text) => {
    await expect(exec(text)).rejects.toMatchObject({
      type: 'ScriptFailed',
      message: expect.stringMatching(
        /exit code 1; a disk is full, according to its output: No space left on device$/,
      ),
    });
  },
);

test('a command that fails for another reason, or succeeds, says nothing of a disk', async () => {
  await expect(exec('echo oops >&2; exit 1')).rejects.toMatchObject({
    message: expect.stringMatching(/exit code 1$/),
  });
  await exec('echo "No space left on device"');
});
