import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Shell } from '../../src/plugins/contract.js';
import { openShell } from '../../src/ssh/interactive.js';
import { createPool, type ConnectionPool } from '../../src/ssh/pool.js';
import { createShell, type ShellOptions } from '../../src/ssh/shell.js';
import { countLines } from '../harness/run-fixture.js';
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

const shellOf = (options: Partial<ShellOptions> = {}): Shell =>
  createShell({ pool, target: node.target, runId: 'task.1', ...options });

describe('run', () => {
  test('returns exit code, output and results', async () => {
    expect(
      await shellOf().run({
        text: 'echo out; echo err >&2; echo "a.b-c_d=x = y" > "$HEDDLE_RESULT"; exit 2',
      }),
    ).toEqual({ exitCode: 2, stdout: 'out\n', stderr: 'err\n', results: { 'a.b-c_d': 'x = y' } });
  });

  test('needs no sudo to run as root after a root login', async () => {
    const bin = join(node.home, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'sudo'), '#!/bin/sh\necho asked >> "$HOME/sudos"\nexit 1\n', { mode: 0o755 });
    node.env['PATH'] = `${bin}:${node.env['PATH'] ?? ''}`;
    const root = shellOf({ target: { ...node.target, user: 'root' } });
    expect(await root.run({ text: 'echo done', sudo: true })).toMatchObject({
      exitCode: 0,
      stdout: 'done\n',
    });
    expect(existsSync(join(node.home, 'sudos'))).toBe(false);
    await expect(shellOf({ runId: 'task.2' }).run({ text: 'true', sudo: true })).rejects.toMatchObject({
      kind: 'Auth',
    });
  });

  test('separates scripts of one task by their names', async () => {
    const shell = shellOf();
    for (const name of ['one', 'two', 'one']) await shell.run({ name, text: 'echo x >> "$HOME/count"' });
    expect(countLines(join(node.home, 'count'))).toBe(2);
  });

  test.each([
    ['a timeout', 'sleep 60', { timeoutMs: 500 }, 'ran longer than 0.5 s'],
    ['a supervisor that was killed', 'kill -9 $PPID; sleep 60', {}, 'was killed on the node'],
  ])('%s is ScriptFailed, with its output', async (_name, command, more, message) => {
    await expect(
      shellOf().run({ name: 'setup', text: `echo before; ${command}`, ...more }),
    ).rejects.toMatchObject({
      kind: 'ScriptFailed',
      stdout: 'before\n',
      message: expect.stringMatching(new RegExp(`^script setup on tester@127\\.0\\.0\\.1:\\d+ ${message}`)),
    });
  });

  test('a cancellation carries its cause', async () => {
    const cancel = new AbortController();
    const reason = new Error('the user said stop');
    const run = shellOf({ signal: cancel.signal }).run({ text: 'touch "$HOME/running"; sleep 60' });
    await until('it runs', () => existsSync(join(node.home, 'running')));
    cancel.abort(reason);
    await expect(run).rejects.toMatchObject({
      kind: 'ScriptFailed',
      message: expect.stringContaining('cancelled'),
      cause: reason,
    });
  });

  test('an invalid result line fails the script, with the line', async () => {
    await expect(
      shellOf().run({ text: 'printf "good=1\\n\\nno equals sign\\n" > "$HEDDLE_RESULT"' }),
    ).rejects.toMatchObject({
      kind: 'ScriptFailed',
      message: expect.stringContaining('line 3: "no equals sign"'),
    });
  });

  test('a failed script is judged by its exit code, whatever its results', async () => {
    expect(await shellOf().run({ text: 'echo nonsense > "$HEDDLE_RESULT"; exit 5' })).toEqual({
      exitCode: 5,
      stdout: '',
      stderr: '',
    });
  });

  test('more than 8 KiB of results are refused', async () => {
    await expect(
      shellOf().run({ text: 'echo "k=$(head -c 9000 /dev/zero | tr "\\\\0" y)" > "$HEDDLE_RESULT"' }),
    ).rejects.toMatchObject({
      kind: 'ScriptFailed',
      message: expect.stringContaining('more than 8192 bytes'),
    });
  });
});

describe('exec', () => {
  test('passes words unchanged, and input', async () => {
    const words = ['a b', `it's`, '$HOME', '*', '', '"', '\\', 'new\nline', '-n', '!x'];
    const { stdout } = await shellOf().exec(
      ['sh', '-c', 'for word in "$@"; do printf "<%s>" "$word"; done; cat', 'sh', ...words],
      { stdin: 'and input' },
    );
    expect(stdout).toBe(`${words.map((word) => `<${word}>`).join('')}and input`);
  });

  test('returns the exit code, also of a missing command', async () => {
    expect((await shellOf().exec(['sh', '-c', 'exit 9'])).exitCode).toBe(9);
    expect((await shellOf().exec(['/no/such/command'])).exitCode).toBe(127);
  });

  test('does not treat a missing exit status as success', async () => {
    node.faults.noExitStatus = true;
    await expect(shellOf().exec(['true'])).rejects.toMatchObject({ kind: 'Retryable' });
  });

  test('gives up at its deadline', async () => {
    await expect(shellOf().exec(['sleep', '60'], { timeoutMs: 300 })).rejects.toMatchObject({
      kind: 'Retryable',
      message: expect.stringContaining('longer than 300 ms'),
    });
  });

  test.each([
    ['its deadline', {}],
    ['its cancellation', { cancel: true }],
  ])(
    'ends the command at %s, with its children',
    async (_name, { cancel = false }: { readonly cancel?: boolean }) => {
      const stop = new AbortController();
      const text = 'sh -c "sleep 68; : $HOME" & touch "$HOME/running"; sleep 69; : $HOME';
      const command = shellOf({ signal: stop.signal }).exec(['sh', '-c', text, node.home], {
        timeoutMs: cancel ? 60_000 : 1_500,
      });
      const ended = expect(command).rejects.toThrow(cancel ? 'enough' : 'longer than 1500 ms');
      await until('it runs', () => existsSync(join(node.home, 'running')));
      stop.signal.throwIfAborted();
      if (cancel) stop.abort(new Error('enough'));
      await ended;
      await until('its processes are gone', () => processesWith(node.home).length === 0);
    },
  );

  test('passes a word that looks like the end of its own program', async () => {
    expect((await shellOf().exec(['printf', '%s', 'a\n#end\nb'])).stdout).toBe('a\n#end\nb');
  });

  test('keeps head and tail of long output', async () => {
    const { stdout } = await shellOf().exec([
      'sh',
      '-c',
      'i=0; while [ $i -lt 50000 ]; do i=$((i+1)); echo $i; done',
    ]);
    expect(stdout.length).toBeLessThan(66_000);
    expect(stdout.startsWith('1\n2\n')).toBe(true);
    expect(stdout.endsWith('49999\n50000\n')).toBe(true);
    expect(stdout).toMatch(/\n\[\.\.\. \d+ bytes omitted \.\.\.\]\n/);
  });
});

describe('putFile', () => {
  test('writes bytes unchanged, for the owner only unless a mode is given', async () => {
    const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, index) => index % 256));
    await shellOf().putFile('plain', bytes);
    await shellOf().putFile(join(node.home, `odd 'name' $HOME`), 'text', { mode: 0o644 });
    await shellOf().putFile('-rf', '');
    expect(readFileSync(join(node.home, 'plain'))).toEqual(bytes);
    expect(statSync(join(node.home, 'plain')).mode & 0o777).toBe(0o600);
    expect(statSync(join(node.home, `odd 'name' $HOME`)).mode & 0o777).toBe(0o644);
    expect(readFileSync(join(node.home, '-rf'), 'utf8')).toBe('');
  });

  test('replaces a file as a whole', async () => {
    await shellOf().putFile('file', 'old and long');
    await shellOf().putFile('file', 'new');
    expect(readFileSync(join(node.home, 'file'), 'utf8')).toBe('new');
  });

  test('leaves the old file if the new one is cut during the transfer', async () => {
    await shellOf().putFile('file', 'old');
    node.faults.cutAfterInput = 50_000;
    await expect(shellOf().putFile('file', 'y'.repeat(1_000_000))).rejects.toMatchObject({
      kind: 'Retryable',
    });
    expect(readFileSync(join(node.home, 'file'), 'utf8')).toBe('old');
  });

  test.each([['no/such/folder/file'], [''], ['line\nbreak']])('refuses %j', async (path) => {
    await expect(shellOf().putFile(path, 'x')).rejects.toMatchObject({ kind: 'Invalid' });
  });
});

describe('an interactive session', () => {
  test('runs a command and returns its exit code', async () => {
    const session = await openShell(await pool.acquire(node.target), [
      'sh',
      '-c',
      'cat; echo "$1"; echo err >&2; exit 4',
      'sh',
      'a b',
    ]);
    session.stdin.end('typed\n');
    const [stdout, stderr, exit] = await Promise.all([
      text(session.stdout),
      text(session.stderr),
      session.exit,
    ]);
    expect({ stdout, stderr, exit }).toEqual({ stdout: 'typed\na b\n', stderr: 'err\n', exit: 4 });
  });

  test('opens the login shell with a terminal that can be resized', async () => {
    const session = await openShell(await pool.acquire(node.target), undefined, {
      pty: true,
      columns: 100,
      rows: 30,
    });
    session.resize(120, 40);
    session.stdin.end('echo $((40 + 2))\nexit 3\n');
    session.stderr.resume();
    expect(await text(session.stdout)).toContain('42');
    expect(await session.exit).toBe(3);
  });
});
