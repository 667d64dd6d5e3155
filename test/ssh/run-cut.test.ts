import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createPool, type ConnectionPool } from '../../src/ssh/pool.js';
import { collect, countLines, runFolder, runOn } from '../harness/run-fixture.js';
import { startNode, type TestNode } from '../harness/ssh-server.js';
import { startProxy } from '../harness/tcp-proxy.js';
import { until } from '../harness/until.js';

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

const lines = (count: number): string =>
  Array.from({ length: count }, (_, index) => `line ${index + 1}\n`).join('');
/** Prints while it runs, so that it would die of a closed pipe if it were attached to the connection. */
const chatty =
  'echo x >> "$HOME/count"; i=0; while [ $i -lt 20 ]; do i=$((i+1)); echo line $i; sleep 0.02; done; exit 4';

test('a cut connection has no effect on the run: one execution, all output once, the right exit code', async () => {
  const output = collect();
  const script =
    'echo x >> "$HOME/count"; i=0; until [ -e "$HOME/go" ]; do i=$((i+1)); echo line $i; sleep 0.02; done; echo $i > "$HOME/lines"; exit 4';
  let cut = 0;
  const end = await runOn(
    node,
    pool,
    'cut',
    { text: script },
    {
      onOutput: (stream, chunk) => {
        void output.listener(stream, chunk);
        if (cut === node.connections.total) return;
        cut = node.connections.total;
        if (cut <= 3) node.cut();
        else writeFileSync(join(node.home, 'go'), '');
      },
    },
  );
  const all = lines(Number(readFileSync(join(node.home, 'lines'), 'utf8')));
  expect(end).toMatchObject({ reason: 'exit', exitCode: 4, stdout: all });
  expect(output.text('stdout')).toBe(all);
  expect(node.connections.total).toBe(4);
  expect(countLines(join(node.home, 'count'))).toBe(1);
});

test('a connection cut within a large output continues at that very byte', async () => {
  let size = 0;
  node.faults.cutAfterBytes = 700_001;
  const end = await runOn(
    node,
    pool,
    'large',
    { text: 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); echo $i; done' },
    {
      onOutput: (_stream, chunk) => {
        size += chunk.length;
      },
    },
  );
  expect(size).toBe(1_988_895);
  expect(end.stdout.startsWith('1\n2\n3\n')).toBe(true);
  expect(end.stdout.endsWith('299999\n300000\n')).toBe(true);
});

test.each([[1], [2_000], [5_500], [8_000], [40_000]])(
  'an upload cut after %i bytes is sent again, and starts once',
  async (bytes) => {
    node.faults.cutAfterInput = bytes;
    const run = runOn(node, pool, 'upload', {
      text: `echo x >> "$HOME/count"; #${'.'.repeat(50_000)}`,
      stdin: '',
    });
    await until('a connection was cut', () => node.connections.total > 0 && node.connections.open === 0);
    delete node.faults.cutAfterInput;
    expect(await run).toMatchObject({ reason: 'exit', exitCode: 0 });
    expect(countLines(join(node.home, 'count'))).toBe(1);
  },
);

test('a missing exit status is not a success: the run folder decides', async () => {
  node.faults.noExitStatus = true;
  expect(await runOn(node, pool, 'null', { text: 'exit 6' })).toMatchObject({ reason: 'exit', exitCode: 6 });
});

test('an unreachable node is Retryable, and a later call finds the run', async () => {
  const proxy = await startProxy(node.target);
  const target = { ...node.target, port: proxy.port };
  const text = chatty.replace('exit 4', 'until [ -e "$HOME/go" ]; do sleep 0.02; done; exit 4');
  const run = runOn(
    node,
    pool,
    'later',
    { text },
    {
      connect: () => pool.acquire(target),
      onOutput: () => {
        void proxy.close();
      },
    },
  );
  await expect(run).rejects.toMatchObject({ kind: 'Retryable' });
  writeFileSync(join(node.home, 'go'), '');
  expect(await runOn(node, pool, 'later', { text })).toMatchObject({ exitCode: 4, stdout: lines(20) });
  expect(countLines(join(node.home, 'count'))).toBe(1);
});

test('a reset connection is retried', async () => {
  const proxy = await startProxy(node.target);
  let resets = 0;
  const end = await runOn(
    node,
    pool,
    'reset',
    { text: chatty },
    {
      connect: () => pool.acquire({ ...node.target, port: proxy.port }),
      onOutput: () => {
        if (resets++ === 0) proxy.reset();
      },
    },
  );
  expect(end).toMatchObject({ exitCode: 4, stdout: lines(20) });
  await proxy.close();
});

test('a silently dead link is detected by keepalive, and the run continues over a new one', async () => {
  const proxy = await startProxy(node.target);
  const watchful = createPool({ keepaliveMs: 100, timeoutMs: 2_000 });
  let dead = false;
  const end = await runOn(
    node,
    watchful,
    'half-open',
    { text: chatty },
    {
      connect: async () => {
        if (dead) proxy.heal();
        return watchful.acquire({ ...node.target, port: proxy.port });
      },
      onOutput: () => {
        if (!dead) proxy.blackhole();
        dead = true;
      },
    },
  );
  expect(end).toMatchObject({ exitCode: 4, stdout: lines(20) });
  expect(countLines(join(node.home, 'count'))).toBe(1);
  await watchful.closeAll();
  await proxy.close();
});

test('a machine that goes down during a script is distinguished from one where the script still runs', async () => {
  const run = runOn(node, pool, 'power', { text: 'echo before; touch "$HOME/running"; sleep 60' });
  await until('the script runs', () => existsSync(join(node.home, 'running')));
  node.killAll();
  // The machine comes up again: another boot, the same disk.
  const pid = join(runFolder(node, 'power'), 'pid');
  const [supervisor, started] = readFileSync(pid, 'utf8').split(' ');
  writeFileSync(pid, `${supervisor} ${started} 11111111-2222-3333-4444-555555555555/7\n`);
  node.cut();
  expect(await run).toMatchObject({ reason: 'reboot', exitCode: undefined, stdout: 'before\n' });
});

test('a restart of a sandbox counts as a reboot, although its host was not restarted', async ({ skip }) => {
  const sandbox = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc', '/bin/sh', '-c'];
  const tried = spawnSync('unshare', [...sandbox.slice(1), 'true']);
  if (tried.status !== 0) return skip('no process namespace can be made here: that takes root');
  node.faults.loginShell = sandbox;
  const run = runOn(node, pool, 'sandbox', { text: 'echo before; touch "$HOME/running"; sleep 60' });
  await until('the script runs', () => existsSync(join(node.home, 'running')));
  // Every command of this node is a boot of its sandbox; killing the first takes all its processes along.
  node.killAll();
  expect(await run).toMatchObject({ reason: 'reboot', exitCode: undefined, stdout: 'before\n' });
});

test('a killed supervisor is not a success, and the rest of its script is ended', async () => {
  const run = runOn(node, pool, 'oom', { text: 'sleep 60 & echo $! > "$HOME/child"; sleep 60' });
  await until('the script runs', () => countLines(join(node.home, 'child')) === 1);
  process.kill(Number.parseInt(readFileSync(join(runFolder(node, 'oom'), 'pid'), 'utf8'), 10), 'SIGKILL');
  expect(await run).toMatchObject({ reason: 'died', exitCode: undefined });
  await until(
    "the script's child is gone",
    () => !isAlive(Number(readFileSync(join(node.home, 'child'), 'utf8'))),
  );
  expect(await runOn(node, pool, 'oom', { text: 'echo never' })).toMatchObject({ reason: 'died' });
});

test('an exit code that a power cut emptied does not count as 0', async () => {
  await runOn(node, pool, 'empty', { text: 'exit 0' });
  writeFileSync(join(runFolder(node, 'empty'), 'rc'), '');
  expect(await runOn(node, pool, 'empty', { text: 'exit 0' })).toMatchObject({
    reason: 'died',
    exitCode: undefined,
  });
});

function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
