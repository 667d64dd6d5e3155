import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { stringify } from 'yaml';
import { heddleOn, type Running, startHeddle } from '../harness/cli/run-heddle.js';
import { processesWith } from '../harness/processes.js';
import { startStack, type Stack, type WorkerProcess } from '../harness/stack.js';
import { startProxy } from '../harness/tcp-proxy.js';
import { until } from '../harness/until.js';
import { newFolder } from '../harness/folder.js';

describe('heddle run', () => {
  let stack: Stack;
  let worker: WorkerProcess;
  beforeAll(async () => {
    stack = await startStack();
    worker = await stack.startWorker();
    const offer = { hardware: 'tiny', image: 'host' };
    const pool = (labels: readonly string[]): object => ({
      labels: Object.fromEntries(labels.map((label) => [label, {}])),
      providerPools: {
        main: {
          provider: 'local',
          limits: { nodes: 2 },
          labels: Object.fromEntries(labels.map((label) => [label, offer])),
        },
      },
    });
    await writeFile(
      join(stack.folder, 'pools.yaml'),
      stringify({ pools: { ci: pool(['small', 'shared']), other: pool(['shared']) } }),
    );
    await json('pool', 'apply', 'pools.yaml');
  });

  const { run, json } = heddleOn(() => stack);
  const start = (...words: readonly string[]): Running =>
    startHeddle(words, {
      distPath: inject('distPath'),
      cwd: stack.folder,
      env: {
        HEDDLE_CONFIG: join(stack.folder, 'worker.yaml'),
        TEMPORAL_ADDRESS: inject('temporalAddress'),
        TEMPORAL_NAMESPACE: stack.namespace,
      },
    });
  const requestOf = (stderr: string): string => /request ([0-9a-f-]{36})/.exec(stderr)?.[1] ?? '';
  const stateOf = async (request: string): Promise<unknown> =>
    (await json('request', 'show', 'ci', request))['state'];

  it('runs a command on a node, ends with its exit code, and returns the node', async () => {
    const ended = await run('run', 'small', '--', 'echo "on $HEDDLE_NODE"; echo problem >&2; exit 7');
    expect(ended).toEqual({
      code: 7,
      stdout: expect.stringMatching(/^on small-\d+\n$/) as string,
      stderr: expect.stringMatching(
        /: runs on small-\d+; Ctrl-C ends it\nproblem\nsmall-\d+: exit code 7\n$/,
      ) as string,
    });
    expect(await stateOf(requestOf(ended.stderr))).toBe('returned');
  });

  it('copies the content of a folder, or a file, to where the command runs', async () => {
    const folder = join(stack.folder, 'job');
    mkdirSync(join(folder, 'sub'), { recursive: true });
    writeFileSync(join(folder, 'test.sh'), '#!/bin/sh\ncat sub/data\n', { mode: 0o755 });
    writeFileSync(join(folder, 'sub/data'), 'content\n');
    expect(await run('run', 'small', '--copy', 'job', '--', './test.sh')).toMatchObject({
      code: 0,
      stdout: 'content\n',
    });
    expect(await run('run', 'small', '--copy', 'job/sub/data', '--', 'cat', 'data')).toMatchObject({
      code: 0,
      stdout: 'content\n',
    });
    expect(await run('run', 'small', '--copy', 'missing', '--', 'true')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--copy missing cannot be read: ') as string,
    });
  });

  it('runs on several nodes, names them on each line, and ends with the highest exit code', async () => {
    const command = 'echo one; printf two; case $HEDDLE_NODE in *[02468]) exit 3;; esac; exit 4';
    const ended = await run('run', 'small', '--count', '2', '--', command);
    expect(ended.code).toBe(4);
    const lines = ended.stdout.trim().split('\n');
    const nodes = new Set(lines.map((line) => /^\[(small-\d+)\] /.exec(line)?.[1]));
    expect(nodes.size).toBe(2);
    expect(lines.toSorted()).toEqual(
      [...nodes].flatMap((node) => [`[${node}] one`, `[${node}] two`]).toSorted(),
    );
    expect(ended.stderr).toMatch(/small-\d+: exit code [34]\nsmall-\d+: exit code [34]\n$/);
  });

  it('writes a document with the results', async () => {
    const { code, stdout } = await run('run', 'small', '--json', '--', 'echo out; echo err >&2; exit 5');
    expect(code).toBe(5);
    expect(JSON.parse(stdout)).toMatchObject({
      pool: 'ci',
      request: expect.any(String),
      results: [{ node: expect.any(String), exitCode: 5, stdout: 'out\n', stderr: 'err\n' }],
    });
  });

  it('needs the pool if several have the label, or none has it', async () => {
    expect(await run('run', 'shared', '--', 'true')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('pools ci, other have label shared: choose one with --pool') as string,
    });
    expect(await run('run', 'shared', '--pool', 'other', '--', 'true')).toMatchObject({ code: 0 });
    expect(await run('run', 'huge', '--', 'true')).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('no pool has label huge') as string,
    });
  });

  it('runs nothing if the pool declines the request', async () => {
    expect(await run('run', 'small', '--count', '3', '--', 'echo never')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /cannot be served: main: its limits are too small: 3 nodes needed, 2 allowed/,
      ) as string,
    });
  });

  it('ends the command and returns the node when it is interrupted', async () => {
    const sleep = `sleep 3100.${process.pid}`;
    const running = start('run', 'small', '--', sleep);
    await until('it runs', () => processesWith(sleep).some(({ line }) => line.startsWith('sleep')));
    running.child.kill('SIGINT');
    const { code, stderr } = await running.ended;
    expect({ code, stderr }).toMatchObject({
      code: 130,
      stderr: expect.stringMatching(/interrupted; request [0-9a-f-]{36} is returned/) as string,
    });
    expect(await stateOf(requestOf(stderr))).toBe('returned');
    expect(processesWith(sleep)).toEqual([]);
  });

  it('ends the command and returns the node when the reader of its output ends', async () => {
    const running = start('run', 'small', '--', 'while sleep 0.1; do echo line; done');
    await until('it runs', () => running.stdout().includes('line'));
    running.child.stdout?.destroy();
    const { code, stderr } = await running.ended;
    expect(code).toBe(141);
    expect(await stateOf(requestOf(stderr))).toBe('returned');
  });

  it('ends the command and returns the node when the reader of much output ends', async () => {
    const running = start('run', 'small', '--', 'yes');
    await until('it runs', () => running.stdout().includes('y'));
    running.child.stdout?.destroy();
    const { code, stderr } = await running.ended;
    expect(code).toBe(141);
    expect(await stateOf(requestOf(stderr))).toBe('returned');
  });

  it.each([
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('returns the node after %s, and ends with %i', async (signal, expected) => {
    const sleep = `sleep 3150.${process.pid}`;
    const running = start('run', 'small', '--', sleep);
    await until('it runs', () => processesWith(sleep).some(({ line }) => line.startsWith('sleep')));
    running.child.kill(signal);
    const { code, stderr } = await running.ended;
    expect(code).toBe(expected);
    expect(await stateOf(requestOf(stderr))).toBe('returned');
    expect(processesWith(sleep)).toEqual([]);
  });

  it('copies a folder with a socket, a FIFO and links of all kinds', async () => {
    const folder = newFolder();
    const socket = createServer().listen(join(folder, 'socket'));
    try {
      execFileSync('mkfifo', [join(folder, 'fifo')]);
      await writeFile(join(folder, 'file'), 'content');
      await symlink('file', join(folder, 'link'));
      await symlink('nothing', join(folder, 'dangling'));
      await symlink('/etc/hostname', join(folder, 'outwards'));
      const { code, stdout } = await run(
        'run',
        'small',
        '--copy',
        folder,
        '--',
        'cat link; ls | sort | xargs',
      );
      expect({ code, stdout }).toEqual({ code: 0, stdout: 'contentdangling file link outwards\n' });
      // A link that is named itself stands for its file.
      const named = await run('run', 'small', '--copy', join(folder, 'link'), '--', 'cat link');
      expect(named).toMatchObject({ code: 0, stdout: 'content' });
    } finally {
      socket.close();
      await rm(folder, { recursive: true });
    }
  });

  it('names the file of --copy that cannot be read', async () => {
    // It claims to be longer than what can be read of it.
    const file = '/sys/devices/system/cpu/online';
    expect(await run('run', 'small', '--copy', file, '--', 'true')).toMatchObject({
      code: 255,
      stderr: expect.stringMatching(/error: small-\d+: --copy .*online cannot be read: .*EOF/) as string,
    });
  });

  it('returns its request when it is interrupted while it waits', async () => {
    const taken = await json('request', 'create', 'ci', 'small', 'small');
    const running = start('run', 'small', '--', 'true');
    await until('it waits', () => running.stderr().includes('waiting; Ctrl-C returns it'));
    running.child.kill('SIGINT');
    const { code, stderr } = await running.ended;
    expect(code).toBe(130);
    expect(await stateOf(requestOf(stderr))).toBe('returned');
    await run('request', 'return', 'ci', String(taken['id']));
  });

  it('says that it returns its request if that takes long, and ends with the next interrupt', async () => {
    const proxy = await startProxy({ port: Number(inject('temporalAddress').split(':')[1]) });
    const sleep = `sleep 3300.${process.pid}`;
    const running = start('run', 'small', '--address', `127.0.0.1:${proxy.port}`, '--', sleep);
    await until('it runs', () => processesWith(sleep).some(({ line }) => line.startsWith('sleep')));
    await proxy.close();
    running.child.kill('SIGINT');
    const request = requestOf(running.stderr());
    await until('it says what it does', () =>
      running
        .stderr()
        .includes(`returning request ${request}; after Ctrl-C, the end of the lease returns the nodes\n`),
    );
    running.child.kill('SIGINT');
    const { stderr } = await running.ended;
    expect(stderr).not.toContain('is returned');
    expect(processesWith(sleep)).toEqual([]);
    await run('request', 'return', 'ci', request);
  });

  it('loses its node after the lease if it is killed, and the node ends the command', async () => {
    const sleep = `sleep 3200.${process.pid}`;
    const running = start('run', 'small', '--lease', '4s', '--', sleep);
    await until('it runs', () => processesWith(sleep).some(({ line }) => line.startsWith('sleep')));
    // It is renewed as long as the client lives.
    const began = Date.now();
    await until('the lease would have ended', () => Date.now() - began > 6_000);
    expect(await stateOf(requestOf(running.stderr()))).toBe('fulfilled');
    running.child.kill('SIGKILL');
    await running.ended;
    await until('the command has ended', () => processesWith(sleep).length === 0);
    await until(
      'the lease has ended',
      async () => (await stateOf(requestOf(running.stderr()))) === 'expired',
    );
  });

  it('goes on while the worker is killed, and returns the node to the next one', async () => {
    const file = join(stack.folder, 'continue');
    const running = start(
      'run',
      'small',
      '--',
      `while [ ! -e ${file} ]; do sleep 0.2; done; echo end; exit 6`,
    );
    await until('it runs', () => running.stderr().includes('runs on'));
    await worker.kill();
    writeFileSync(file, '');
    await until('the command has ended', () => running.stdout() === 'end\n');
    worker = await stack.startWorker('second');
    const { code, stderr } = await running.ended;
    expect(code).toBe(6);
    expect(await stateOf(requestOf(stderr))).toBe('returned');
  });

  it('names the node and the cause if SSH fails, and ends with 255', async () => {
    const running = start('run', 'small', '--', 'sleep 60');
    await until('it runs', () => running.stderr().includes('runs on'));
    const node = /runs on (small-\d+)/.exec(running.stderr())?.[1] ?? '';
    await json('pool', 'delete', 'ci', node, '--yes');
    const { code, stderr } = await running.ended;
    expect(code).toBe(255);
    expect(stderr).toMatch(
      new RegExp(`error: ${node}: (the connection to root@127[.\\d:]+ was lost|cannot reach root@127)`),
    );
  });
});
