import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { RunOptions } from '../../src/ssh/run-options.js';
import { createPool, type ConnectionPool } from '../../src/ssh/pool.js';
import { folderFunctions } from '../../src/ssh/remote/folder.js';
import { runOnce } from '../../src/ssh/run.js';
import { collect, countLines, runFolder, runOn } from '../harness/run-fixture.js';
import { processesWith } from '../harness/processes.js';
import { outsideOf, startNode, type TestNode } from '../harness/ssh-server.js';
import { until } from '../harness/until.js';
import { newFolder } from '../harness/folder.js';

let node: TestNode;
let pool: ConnectionPool;
/** Outside of the node's home: scripts leave a line for each start here. */
let witness: string;
beforeEach(async () => {
  node = await startNode();
  pool = createPool();
  witness = newFolder();
});
afterEach(async () => {
  await pool.closeAll();
  await node.close();
});

const starts = (): number => countLines(join(witness, 'starts'));
const counted = (text: string): string => `echo x >> ${witness}/starts; ${text}`;
/** Removes something, and waits until it may go on. */
const pausing = (removal: string, more: string): string =>
  counted(`echo before; ${removal}; touch ${witness}/removed; ${waitFor('go')}; ${more}`);
const waitFor = (mark: string): string => `until [ -e ${witness}/${mark} ]; do sleep 0.05; done`;
const removed = (): boolean => existsSync(join(witness, 'removed'));
const letGo = (): void => writeFileSync(join(witness, 'go'), '');
const emptyHome = 'find "$HOME" -mindepth 1 -delete';
const folders = (): string => outsideOf(node.runs).join(' ');

/** An attempt whose worker is gone as soon as the script has removed what it removes. */
async function abandonWhenRemoved(runId: string, text: string): Promise<void> {
  const detach = new AbortController();
  const run = runOn(node, pool, runId, { text }, { detach: detach.signal });
  await until('it is removed', removed);
  detach.abort();
  await expect(run).rejects.toMatchObject({ kind: 'Retryable' });
}

describe('a script that removes the folder of its run is started once, and its exit code is known', () => {
  test.each([
    ['its run folders', 'rm -rf "$HOME/.heddle"'],
    ['all that its home contains', emptyHome],
    ['its home', 'rm -rf "$HOME"'],
  ])('%s', async (_name, removal) => {
    const script = { text: counted(`echo out; echo err >&2; ${removal}; exit 3`) };
    for (let attempt = 1; attempt <= 3; attempt++)
      expect(await runOn(node, pool, 'clean', script)).toMatchObject({
        reason: 'exit',
        exitCode: 3,
        stdout: 'out\n',
        stderr: 'err\n',
      });
    expect(starts()).toBe(1);
  });

  test('also if its output was already streamed when it removed them', async () => {
    const output = collect();
    const run = runOn(
      node,
      pool,
      'long',
      { text: `echo begin; ${waitFor('seen')}; ${pausing(emptyHome, 'echo after; exit 4')}` },
      { onOutput: output.listener },
    );
    await until('its output is here', () => output.text('stdout') === 'begin\n');
    writeFileSync(join(witness, 'seen'), '');
    await until('it is removed', removed);
    letGo();
    expect(await run).toMatchObject({ reason: 'exit', exitCode: 4, stdout: 'begin\nbefore\nafter\n' });
    expect(output.text('stdout')).toBe('begin\nbefore\nafter\n');
    expect(starts()).toBe(1);
  });

  test('also if its worker was killed meanwhile', async () => {
    const text = pausing(emptyHome, 'echo after; exit 5');
    await abandonWhenRemoved('handover', text);
    const notes: string[] = [];
    const next = runOn(node, pool, 'handover', { text }, { onNote: (note) => notes.push(note) });
    letGo();
    expect(await next).toMatchObject({ reason: 'exit', exitCode: 5, stdout: 'before\nafter\n' });
    expect(notes).toEqual(['the folder of this run was removed on the node; output may be missing']);
    expect(starts()).toBe(1);
  });

  test('also if it removes the records outside of its home while a worker follows it', async () => {
    const run = runOn(node, pool, 'all', { text: pausing(`${emptyHome}; rm -rf ${folders()}`, 'exit 6') });
    await until('it is removed', removed);
    letGo();
    expect(await run).toMatchObject({ reason: 'exit', exitCode: 6, stdout: 'before\n' });
    // What the supervisor knew stands again.
    expect(await runOn(node, pool, 'all', { text: counted('') })).toMatchObject({ exitCode: 6 });
    expect(starts()).toBe(1);
  });

  test('also if a clean-up of /var/tmp takes one of the two records', async () => {
    const [first = ''] = outsideOf(node.runs);
    const text = pausing(`${emptyHome}; rm -rf ${first}`, 'exit 7');
    await abandonWhenRemoved('one', text);
    letGo();
    expect(await runOn(node, pool, 'one', { text })).toMatchObject({ reason: 'exit', exitCode: 7 });
    expect(starts()).toBe(1);
  });
});

test('a run whose folder was removed by another script keeps its outcome', async () => {
  await runOn(node, pool, 'first', { text: counted('exit 8') });
  await runOn(node, pool, 'second', { text: emptyHome });
  expect(await runOn(node, pool, 'first', { text: counted('') })).toMatchObject({
    reason: 'exit',
    exitCode: 8,
  });
  expect(starts()).toBe(1);
});

test('a run that removed its folder and was killed is reported as died, and not started again', async () => {
  const text = pausing(emptyHome, '');
  const run = runOn(node, pool, 'killed', { text: `${waitFor('seen')}; ${text}` });
  await until('it is claimed', () => existsSync(join(runFolder(node, 'killed'), 'starts')));
  const supervisor = Number.parseInt(readFileSync(join(runFolder(node, 'killed'), 'pid'), 'utf8'), 10);
  writeFileSync(join(witness, 'seen'), '');
  await until('it is removed', removed);
  process.kill(supervisor, 'SIGKILL');
  node.killAll();
  node.cut();
  expect(await run).toMatchObject({ reason: 'died', exitCode: undefined });
  expect(await runOn(node, pool, 'killed', { text })).toMatchObject({ reason: 'died' });
  expect(starts()).toBe(1);
});

test('a run of which nothing is left is reported as unknown, by every later attempt that knows of its claim', async () => {
  const text = `${waitFor('seen')}; ${pausing(`${emptyHome}; rm -rf ${folders()}`, '')}`;
  let claims = 0;
  const run = runOn(node, pool, 'nothing', { text }, { onClaim: () => claims++ });
  await until('the worker knows that it was claimed', () => claims > 0);
  const supervisor = Number.parseInt(readFileSync(join(runFolder(node, 'nothing'), 'pid'), 'utf8'), 10);
  writeFileSync(join(witness, 'seen'), '');
  await until('it is removed', removed);
  process.kill(supervisor, 'SIGKILL');
  node.killAll();
  node.cut();
  const unknown = {
    kind: 'UnknownOutcome',
    message: expect.stringMatching(/nothing of it is left there: its outcome is unknown/),
  };
  await expect(run).rejects.toMatchObject(unknown);
  await expect(runOn(node, pool, 'nothing', { text }, { claimed: true })).rejects.toMatchObject(unknown);
  expect([claims, starts()]).toEqual([1, 1]);
});

test('a run that removed its folder can be cancelled', async () => {
  const cancel = new AbortController();
  const run = runOn(
    node,
    pool,
    'cancel',
    { text: pausing(emptyHome, `: ${witness}`) },
    { signal: cancel.signal },
  );
  await until('it is removed', removed);
  cancel.abort();
  expect(await run).toMatchObject({ reason: 'cancel' });
  expect(await runOn(node, pool, 'cancel', { text: counted('') })).toMatchObject({ reason: 'cancel' });
  await until('nothing of it runs', () => processesWith(node.runs).length === 0);
  expect(starts()).toBe(1);
});

test.each([
  ['with its records', ''],
  ['and its records', '; rm -rf FOLDERS'],
])('the time limit ends a run that removed its folder, %s', async (_name, more) => {
  const text = pausing(`${emptyHome}${more.replace('FOLDERS', folders())}`, '');
  expect(await runOn(node, pool, 'slow', { text, timeoutMs: 1_000 })).toMatchObject({ reason: 'timeout' });
  expect(starts()).toBe(1);
});

test('a later task of the node ends a script that removed the folder of its run', async () => {
  const run = (runId: string, time: number, text: string, options: Partial<RunOptions> = {}) =>
    runOnce(
      { runId, script: { text }, fence: { node: 'uid/app-1#1', time, operation: String(time) } },
      { connect: () => pool.acquire(node.target), ...options },
    );
  const detach = new AbortController();
  const zombie = run('old', 1, pausing(`rm -rf "$HOME"/.heddle/runs/old-*`, ''), { detach: detach.signal });
  await until('it is removed', removed);
  detach.abort();
  await expect(zombie).rejects.toMatchObject({ kind: 'Retryable' });
  const notes: string[] = [];
  expect(await run('new', 2, 'echo alone', { onNote: (note) => void notes.push(note) })).toMatchObject({
    stdout: 'alone\n',
  });
  expect(notes).toEqual(['ended first: old, a script of operation 1 that still ran']);
  await until('nothing of it runs', () => processesWith(witness).length === 0);
});

test('a claim that is made while another attempt looks for it is found in its own folder', () => {
  // The look-up of the user comes between the one of the folder and that of the records.
  const program = `${folderFunctions}
    own_uid() {
      uid=$(id -u)
      mkdir -p "$origin/$run" && cd "$origin/$run"
      own_uid() { :; }
      claim 1 2 3 && echo 1 2 3 >> pid
    }
    runs= run=task id=task
    find_runs
    echo "$runs"`;
  const env = { ...node.env, HOME: node.home };
  expect(spawnSync('sh', ['-c', program], { env, encoding: 'utf8' })).toMatchObject({
    stdout: `${node.runs}\n`,
    stderr: '',
  });
  for (const folder of outsideOf(node.runs)) expect(readdirSync(folder)).toEqual(['task.claim']);
});

test('what is recorded outside of the home is private, and one file for a run', async () => {
  await runOn(node, pool, 'private', { text: 'echo CANARY' });
  for (const folder of outsideOf(node.runs)) {
    const names = readdirSync(folder);
    expect(names).toHaveLength(1);
    expect(statSync(folder).mode & 0o777, folder).toBe(0o700);
    expect(statSync(join(folder, '..')).mode & 0o777, folder).toBe(0o700);
    const text = readFileSync(join(folder, names[0] ?? ''), 'utf8');
    expect(text).toMatch(/^claim \d+ .*\nstart \d+ .*\nend 0 exit\n$/);
  }
});
