import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createPool, type ConnectionPool } from '../../src/ssh/pool.js';
import { countLines, runOn } from '../harness/run-fixture.js';
import { processesWith } from '../harness/processes.js';
import { startNode, type TestNode } from '../harness/ssh-server.js';
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

/**
 * Starts grandchildren, says so, and waits for good. Its processes carry the node's home in their arguments.
 */
const family =
  'sh -c "sh -c \'sleep 61; : $HOME\' & sleep 62; : $HOME" & echo started; touch "$HOME/running"; wait; : end';
const running = (): boolean => existsSync(join(node.home, 'running'));

test('cancelling ends the script with all its processes, and is reported', async () => {
  const cancel = new AbortController();
  const run = runOn(node, pool, 'cancel', { text: family }, { signal: cancel.signal });
  await until('the script runs', running);
  cancel.abort();
  expect(await run).toMatchObject({ reason: 'cancel', stdout: 'started\n' });
  await until('its processes are gone', () => processesWith(node.home).length === 0);
});

test('output of a script during its end is kept', async () => {
  const cancel = new AbortController();
  const run = runOn(
    node,
    pool,
    'words',
    { text: 'trap "echo tidied up; exit 9" TERM; touch "$HOME/running"; while :; do sleep 0.05; done' },
    { signal: cancel.signal },
  );
  await until('the script runs', running);
  cancel.abort();
  expect(await run).toMatchObject({ reason: 'cancel', exitCode: 9, stdout: 'tidied up\n' });
});

test('a script that ignores TERM is killed after five seconds', async () => {
  const cancel = new AbortController();
  const run = runOn(
    node,
    pool,
    'stubborn',
    {
      text: 'trap "" TERM; sh -c "while :; do sleep 0.1; done; : $HOME" & touch "$HOME/running"; while :; do sleep 0.1; done',
    },
    { signal: cancel.signal },
  );
  await until('the script runs', running);
  cancel.abort();
  expect(await run).toMatchObject({ reason: 'cancel' });
  await until('its processes are gone', () => processesWith(node.home).length === 0);
});

test('cancelling uses a new connection if the old one is gone', async () => {
  const cancel = new AbortController();
  const run = runOn(node, pool, 'cut', { text: family }, { signal: cancel.signal });
  await until('the script runs', running);
  node.cut();
  cancel.abort();
  expect(await run).toMatchObject({ reason: 'cancel' });
  await until('its processes are gone', () => processesWith(node.home).length === 0);
});

test('a run that was cancelled before its start never starts', async () => {
  const script = { text: 'echo x >> "$HOME/count"' };
  expect(await runOn(node, pool, 'never', script, { signal: AbortSignal.abort() })).toMatchObject({
    reason: 'cancel',
  });
  expect(await runOn(node, pool, 'never', script)).toMatchObject({ reason: 'cancel' });
  expect(countLines(join(node.home, 'count'))).toBe(0);
});

test('cancelling a run at any moment of its start leaves nothing running, and at most one execution', async () => {
  for (const wait of [0, 5, 10, 20, 30, 40, 60, 90, 130]) {
    const cancel = new AbortController();
    setTimeout(() => cancel.abort(), wait);
    const end = await runOn(
      node,
      pool,
      `race-${wait}`,
      { text: `echo x >> "$HOME/count-${wait}"; sleep 63` },
      { signal: cancel.signal },
    );
    expect(end.reason).toBe('cancel');
    expect(countLines(join(node.home, `count-${wait}`))).toBeLessThanOrEqual(1);
  }
  await until('nothing runs', () => processesWith(node.runs).length === 0);
});

test('cancelling a run that has ended changes nothing', async () => {
  await runOn(node, pool, 'over', { text: 'echo done; exit 2' });
  expect(await runOn(node, pool, 'over', { text: '' }, { signal: AbortSignal.abort() })).toMatchObject({
    reason: 'exit',
    exitCode: 2,
    stdout: 'done\n',
  });
});

test('a failed cancellation of a run on an unreachable node is reported', async () => {
  const { port } = node.target;
  await node.close();
  const gone = { ...node.target, port };
  await expect(
    runOn(
      node,
      pool,
      'gone',
      { text: '' },
      { signal: AbortSignal.abort(), connect: () => pool.acquire(gone) },
    ),
  ).rejects.toMatchObject({ kind: 'Retryable', message: expect.stringContaining('could not be cancelled') });
  node = await startNode();
});

test('a script at its time limit is ended on the node, with all its processes', async () => {
  const end = await runOn(node, pool, 'timeout', { text: family, timeoutMs: 900 });
  expect(end).toMatchObject({ reason: 'timeout', stdout: 'started\n' });
  await until('its processes are gone', () => processesWith(node.home).length === 0);
});

test('the time limit ends a script on the node without a connection', async () => {
  const detach = new AbortController();
  const run = runOn(node, pool, 'alone', { text: family, timeoutMs: 900 }, { detach: detach.signal });
  await until('the script runs', running);
  detach.abort();
  await expect(run).rejects.toMatchObject({ kind: 'Retryable' });
  await until('its processes are gone', () => processesWith(node.home).length === 0);
  expect(await runOn(node, pool, 'alone', { text: family })).toMatchObject({ reason: 'timeout' });
});

test('a worker that detaches leaves the script running, and the next one reports its outcome', async () => {
  const detach = new AbortController();
  const script = {
    text: 'echo x >> "$HOME/count"; touch "$HOME/running"; until [ -e "$HOME/go" ]; do sleep 0.05; done; echo done; exit 8',
  };
  const run = runOn(node, pool, 'handover', script, { detach: detach.signal });
  await until('the script runs', running);
  detach.abort();
  await expect(run).rejects.toMatchObject({
    kind: 'Retryable',
    message: expect.stringContaining('continues on its node'),
  });
  await runOn(node, pool, 'other', { text: 'touch "$HOME/go"' });
  expect(await runOn(node, pool, 'handover', script)).toMatchObject({
    reason: 'exit',
    exitCode: 8,
    stdout: 'done\n',
  });
  expect(readFileSync(join(node.home, 'count'), 'utf8')).toBe('x\n');
});
