import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FakeAutomator } from '../../../../src/plugins/automators/fake/fake.js';
import type { JsonObject, PluginLog, Task, TaskResult } from '../../../../src/plugins/contract.js';
import { isPluginError } from '../../../../src/plugins/errors.js';
import { createPool, type ConnectionPool } from '../../../../src/ssh/pool.js';
import { createShell } from '../../../../src/ssh/shell.js';
import { startNode, type TestNode } from '../../../harness/ssh-server.js';
import { until } from '../../../harness/until.js';

let node: TestNode;
let pool: ConnectionPool;
let printed: string;
beforeEach(async () => {
  node = await startNode();
  pool = createPool();
  printed = '';
});
afterEach(async () => {
  await pool.closeAll();
  await node.close();
});

const log: PluginLog = {
  debug() {
    /* not looked at */
  },
  info() {
    /* nor this */
  },
  warn() {
    /* nor this */
  },
  error() {
    /* nor this */
  },
};

/** One attempt of INSTALL of service web; `run` tells the runs of one task apart. */
function install(
  fields: JsonObject,
  { run = 1, attempt = 1, signal = new AbortController().signal } = {},
): Promise<TaskResult> {
  const task: Task = {
    taskId: `u/app-1#1/web/INSTALL/${JSON.stringify(fields)}`,
    taskName: 'INSTALL',
    clusterId: 'shop',
    clusterUid: 'u',
    nodeId: 'app-1',
    incarnation: 1,
    attempt,
    config: {},
    nodes: {},
    cluster: {},
    provider: { name: 'lab', type: 'local', fields: {} },
    service: { name: 'web', action: { type: 'fake', fields } },
  };
  const shell = createShell({
    pool,
    target: node.target,
    signal,
    runId: `${task.taskId}.${run}`,
    log,
    onOutput: (_stream, chunk) => {
      printed += String(Buffer.from(chunk));
    },
  });
  return new FakeAutomator({ task, log, signal, fields: {}, shell }).carryOut();
}

const failureOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => 'nothing',
    (error: unknown) => (isPluginError(error) ? `${error.kind} ${error.exitCode ?? ''}`.trim() : error),
  );
const done = (): readonly string[] =>
  existsSync(join(node.home, '.heddle-fake/done'))
    ? readFileSync(join(node.home, '.heddle-fake/done'), 'utf8').trim().split('\n')
    : [];

test('prints and returns the given values after the given time', async () => {
  expect(await install({ for: '0.1s', output: '100% "done"', results: { 'web.port': '80' } })).toEqual({
    result: { 'web.port': '80' },
  });
  expect(printed).toBe('100% "done"');
  expect(done()).toEqual(['begins web.INSTALL', 'ends web.INSTALL']);
});

test('fails twice with its exit code, then succeeds', async () => {
  const fields = { fail: 2, exitCode: 7 };
  expect(await failureOf(install(fields, { run: 1 }))).toBe('ScriptFailed 7');
  expect(await failureOf(install(fields, { run: 1, attempt: 2 }))).toBe('ScriptFailed 7');
  expect(await failureOf(install(fields, { run: 2 }))).toBe('ScriptFailed 7');
  expect(await failureOf(install(fields, { run: 3 }))).toBe('nothing');
  expect(done().filter((line) => line.startsWith('fails'))).toHaveLength(2);
});

test('throws the given kind for the given number of attempts, and executes nothing', async () => {
  const fields = { throw: 'UnknownOutcome', attempts: 2 };
  expect(await failureOf(install(fields))).toBe('UnknownOutcome');
  expect(await failureOf(install(fields, { attempt: 2 }))).toBe('UnknownOutcome');
  expect(done()).toEqual([]);
  expect(await failureOf(install(fields, { attempt: 3 }))).toBe('nothing');
  expect(await failureOf(install({ throw: 'Internal' }))).toMatchObject({
    message: expect.stringContaining('fails as scripted with Internal'),
  });
});

test('loses its answer: its work is done once, and the next attempt reads it', async () => {
  const fields = { loseAnswer: true, results: { n: 1 } };
  expect(await failureOf(install(fields))).toBe('Retryable');
  expect(await install(fields, { attempt: 2 })).toEqual({ result: { n: 1 } });
  expect(done()).toEqual(['begins web.INSTALL', 'ends web.INSTALL']);
});

test('hangs until it is cancelled, and is then ended on the node', async () => {
  const cancel = new AbortController();
  const hanging = failureOf(install({ hang: true }, { signal: cancel.signal }));
  await until('it begins', () => done().length > 0);
  cancel.abort(new Error('the task was cancelled'));
  expect(await hanging).toMatch(/^ScriptFailed/);
  expect(done()).toEqual(['begins web.INSTALL']);
});
