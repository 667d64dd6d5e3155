import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { listRuns } from '../../src/ssh/list-runs.js';
import { createPool, type ConnectionPool } from '../../src/ssh/pool.js';
import { findCommand, makeBin } from '../harness/node-bin.js';
import { collect, countLines, runFolder, runOn } from '../harness/run-fixture.js';
import { processesWith } from '../harness/processes.js';
import { startNode, type TestNode } from '../harness/ssh-server.js';
import { until } from '../harness/until.js';
import { newFolder } from '../harness/folder.js';

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

test('executes a script with its input and environment, in one remote command, and returns all it left', async () => {
  const end = await runOn(node, pool, 'run 1', {
    text: 'cat; echo "$FOO" >&2; pwd; umask; echo k=v > "$HEDDLE_RESULT"; exit 3',
    stdin: 'input\n',
    environment: { FOO: `a'b  $c\n"d` },
  });
  expect(end).toEqual({
    reason: 'exit',
    exitCode: 3,
    stdout: `input\n${node.home}\n0022\n`,
    stderr: `a'b  $c\n"d\n`,
    result: Buffer.from('k=v\n'),
  });
  expect(node.commands).toHaveLength(1);
});

test('a run id that was used returns its outcome again, and executes nothing', async () => {
  const script = { text: 'echo started | tee -a "$HOME/count"; exit 5' };
  const first = await runOn(node, pool, 'again', script);
  const second = await runOn(node, pool, 'again', script);
  expect(second).toEqual(first);
  expect(countLines(join(node.home, 'count'))).toBe(1);
});

test('different ids run separately, however similar as file names', async () => {
  for (const runId of [
    'a/b',
    'a_b',
    'a#b',
    `${'x'.repeat(300)}1`,
    `${'x'.repeat(300)}2`,
    '../../up',
    '.hidden',
    '-rf',
  ]) {
    expect(await runOn(node, pool, runId, { text: 'echo x >> "$HOME/count"' })).toMatchObject({
      exitCode: 0,
    });
  }
  expect(countLines(join(node.home, 'count'))).toBe(8);
  const runs = await listRuns(await pool.acquire(node.target));
  expect(runs.map(({ runId }) => runId)).toContain('../../up');
  expect(
    runs.every(({ starts, exitCode, reason }) => starts === 1 && exitCode === 0 && reason === 'exit'),
  ).toBe(true);
});

test('30 concurrent starts over three pools lead to one execution and one answer', async () => {
  const pools = [pool, createPool(), createPool()];
  const script = { text: 'echo x >> "$HOME/count"; sleep 0.5; echo done; exit 7' };
  const ends = await Promise.all(
    Array.from({ length: 30 }, (_, index) => runOn(node, pools[index % 3] ?? pool, 'crowd', script)),
  );
  expect(countLines(join(node.home, 'count'))).toBe(1);
  for (const end of ends) expect(end).toMatchObject({ reason: 'exit', exitCode: 7, stdout: 'done\n' });
  expect(await listRuns(await pool.acquire(node.target))).toEqual([
    { runId: 'crowd', starts: 1, exitCode: 7, reason: 'exit' },
  ]);
  await Promise.all(pools.slice(1).map((one) => one.closeAll()));
});

test('output is shown while the script runs', async () => {
  const output = collect();
  const run = runOn(
    node,
    pool,
    'slow',
    { text: 'echo first; until [ -e "$HOME/go" ]; do sleep 0.05; done; echo second' },
    { onOutput: output.listener },
  );
  await until('the first line is here', () => output.text('stdout') === 'first\n');
  await runOn(node, pool, 'other', { text: 'touch "$HOME/go"' });
  await run;
  expect(output.text('stdout')).toBe('first\nsecond\n');
});

test('a slow reader gets everything, in order', async () => {
  let size = 0;
  let wrong = 0;
  const end = await runOn(
    node,
    pool,
    'big',
    { text: 'head -c 8000000 /dev/zero | tr "\\0" "y"; echo end >&2' },
    {
      onOutput: async (stream, chunk) => {
        if (stream === 'stderr') return;
        size += chunk.length;
        if (chunk.some((byte) => byte !== 0x79)) wrong++;
        await delay(1);
      },
    },
  );
  expect({ size, wrong }).toEqual({ size: 8_000_000, wrong: 0 });
  expect(end.stderr).toBe('end\n');
  expect(end.stdout.length).toBeLessThan(66 * 1024);
  expect(end.stdout).toContain(`[... ${8_000_000 - 64 * 1024} bytes omitted ...]`);
});

test('binary output without a line break arrives byte for byte', async () => {
  const chunks: Buffer[] = [];
  await runOn(
    node,
    pool,
    'binary',
    { text: 'printf "\\000\\377\\033[31m\\200"; printf x' },
    {
      onOutput: (_stream, chunk) => {
        chunks.push(Buffer.from(chunk));
      },
    },
  );
  expect(Buffer.concat(chunks)).toEqual(Buffer.from([0, 255, 0x1b, 0x5b, 0x33, 0x31, 0x6d, 0x80, 0x78]));
});

test('background processes of a script do not delay the end of its run', async () => {
  const end = await runOn(node, pool, 'daemon', {
    text: 'sleep 30 & echo $! > "$HOME/daemon"; echo started',
  });
  expect(end).toMatchObject({ reason: 'exit', exitCode: 0, stdout: 'started\n' });
  const pid = Number(readFileSync(join(node.home, 'daemon'), 'utf8'));
  // It is the service that the script was there to start.
  expect(process.kill(pid, 0)).toBe(true);
  process.kill(pid, 'SIGKILL');
});

test('any interpreter executes the script', async () => {
  const end = await runOn(node, pool, 'perl', {
    text: 'print "from perl\\n"; exit 9',
    interpreter: ['/usr/bin/env', 'perl', '-w'],
  });
  expect(end).toMatchObject({ exitCode: 9, stdout: 'from perl\n' });
});

test("a missing interpreter is the script's failure, with its name", async () => {
  const end = await runOn(node, pool, 'none', { text: '', interpreter: ['/no/such/interpreter'] });
  expect(end).toMatchObject({ reason: 'exit', exitCode: 127 });
  expect(end.stderr).toContain('/no/such/interpreter');
});

test.each(['dash', 'bash'])('%s passes any input, arguments and files unchanged', async (shell) => {
  const bin = newFolder();
  const odd = await startNode({ env: { PATH: `${makeBin(bin, { sh: findCommand(shell) })}:/usr/bin:/bin` } });
  const characters = Array.from({ length: 0x300 }, (_, code) => String.fromCharCode(code)).join('');
  const inputs = [characters, 'a\0b\\0134\\n%s%b\0', "'", '', '🤖'];
  for (const [index, stdin] of inputs.entries())
    expect((await runOn(odd, pool, `input-${index}`, { text: 'cat', stdin })).stdout).toBe(stdin);
  const words = ["a'b", '$x', '', '\n', '-e'];
  const content = '#!/bin/sh\necho "$0"';
  const end = await runOn(odd, pool, 'words', {
    text: 'printf "[%s]" "$@"; cmp "$FILE" "$HEDDLE_DATA" && tool',
    stdin: content,
    arguments: words,
    files: [{ name: 'tool', content, variable: 'FILE', executable: true }],
  });
  expect(end.stdout.startsWith("[a'b][$x][][\n][-e]/")).toBe(true);
  expect(end.stdout.endsWith('/tool\n')).toBe(true);
  await odd.close();
  rmSync(bin, { recursive: true });
});

test('script, input and environment are never an argument of a process, and are gone after the run', async () => {
  const script = {
    text: '# CANARY-SCRIPT\ntouch "$HOME/running"; until [ -e "$HOME/go" ]; do sleep 0.05; done',
    stdin: 'CANARY-STDIN',
    environment: { SECRET: 'CANARY-VALUE' },
  };
  const run = runOn(node, pool, 'secret', script);
  await until('the script runs', () => existsSync(join(node.home, 'running')));
  expect(processesWith(runFolder(node, 'secret')).length).toBeGreaterThan(0);
  expect(processesWith('CANARY')).toEqual([]);
  const files = join(runFolder(node, 'secret'), 'up');
  for (const folder of [files, runFolder(node, 'secret')])
    expect(statSync(folder).mode & 0o777, folder).toBe(0o700);
  for (const file of readdirSync(files)) expect(statSync(join(files, file)).mode & 0o077, file).toBe(0);
  await runOn(node, pool, 'other', { text: 'touch "$HOME/go"' });
  await run;
  const left = readdirSync(runFolder(node, 'secret'));
  expect(left.toSorted()).toEqual(['err', 'id', 'out', 'pid', 'rc', 'starts']);
  for (const file of left)
    expect(readFileSync(join(runFolder(node, 'secret'), file), 'utf8')).not.toContain('CANARY');
});

test('no process of Heddle is left behind', async () => {
  await runOn(node, pool, 'clean', { text: 'echo x', timeoutMs: 3_600_000 });
  await until('all are gone', () => processesWith(node.runs).length === 0);
});

test('a long text that runs share is sent to a node once, and again when it was removed', async () => {
  const shared = 'common\n'.repeat(10_000);
  const script = (own: string) => ({
    text: 'head -n 1 "$FILE"; wc -l < "$FILE"',
    files: [{ name: 'list', variable: 'FILE', content: `${own}\n`, shared }],
  });
  for (const [index, own] of ['one', 'two'].entries())
    expect((await runOn(node, pool, own, script(own))).stdout, String(index)).toBe(`${own}\n10001\n`);
  const folder = join(node.runs, '.shared');
  const [name = ''] = readdirSync(folder);
  expect(readdirSync(folder)).toHaveLength(1);
  expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
  // One shell for the scripts, and one command for the text.
  expect(node.commands).toHaveLength(2);
  rmSync(join(folder, name));
  expect((await runOn(node, pool, 'three', script('three'))).stdout).toBe('three\n10001\n');
  expect(node.commands).toHaveLength(3);
});
