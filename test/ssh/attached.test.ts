import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { create } from 'tar';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runAttached, type AttachedRun } from '../../src/ssh/attached.js';
import { connect } from '../../src/ssh/connect.js';
import type { Connection } from '../../src/ssh/connection.js';
import { unpack } from '../../src/ssh/copy.js';
import { processesWith } from '../harness/processes.js';
import { startNode, type TestNode } from '../harness/ssh-server.js';
import { until } from '../harness/until.js';

let node: TestNode;
let connection: Connection;
beforeEach(async () => {
  node = await startNode();
  connection = await connect(node.target);
});
afterEach(async () => {
  connection.close();
  await node.close();
});

async function run(
  command: string,
  more: Partial<AttachedRun> = {},
): Promise<{ readonly exitCode: number; readonly stdout: string; readonly stderr: string }> {
  let [stdout, stderr] = ['', ''];
  const exitCode = await runAttached(connection, {
    folder: 'work',
    command,
    onStdout: (chunk) => void (stdout += chunk.toString()),
    onStderr: (chunk) => void (stderr += chunk.toString()),
    signal: new AbortController().signal,
    ...more,
  });
  return { exitCode, stdout, stderr };
}

/** No other test sleeps so long. */
function sleep(): string {
  return `sleep 3000.${node.target.port}`;
}

/** Starts a command with a child, and waits until both run. */
async function begin(signal?: AbortSignal): Promise<{ readonly ended: Promise<unknown> }> {
  const command = `${sleep()} & echo > "$HOME/running"; ${sleep()}; echo late > "$HOME/late"`;
  const ended = run(command, signal === undefined ? {} : { signal }).catch((error: unknown) => error);
  await until('it runs', () => existsSync(join(node.home, 'running')));
  return { ended };
}

async function expectNothingLeft(): Promise<void> {
  await until('the folder is deleted', () => !existsSync(join(node.home, 'work')));
  await until('its processes have ended', () => processesWith(sleep()).length === 0);
  expect(existsSync(join(node.home, 'late'))).toBe(false);
}

describe('a command attached to its connection', () => {
  it('runs in a folder of its own, and its streams arrive without the noise of the login', async () => {
    node.faults.noise = 'Welcome!\n';
    expect(
      await run('pwd; echo "$NAME"; echo problem >&2; exit 7', { variables: { NAME: "it's $HOME" } }),
    ).toEqual({ exitCode: 7, stdout: `${node.home}/work\nit's $HOME\n`, stderr: 'problem\n' });
    expect(readdirSync(node.home)).not.toContain('work');
  });

  it('ends when the reader of its pipe ends', async () => {
    expect(await run('while :; do echo y; done | head -n 1')).toMatchObject({ exitCode: 0, stdout: 'y\n' });
  });

  it('ends when its signal aborts while the connection opens its channel', async () => {
    const abort = new AbortController();
    const ended = run(sleep(), { signal: abort.signal });
    abort.abort(new Error('no longer wanted'));
    await expect(ended).rejects.toThrow('no longer wanted');
    await until('the command ends', () => processesWith(sleep()).length === 0);
  });

  it('reads no standard input, and is in no list of processes', async () => {
    expect((await run('cat; ps -ef | grep -c "of the comm[a]nd"; : the text of the command')).stdout).toBe(
      '0\n',
    );
  });

  it('reports a signal that ended it as its shell does', async () => {
    expect((await run('kill -KILL $$')).exitCode).toBe(137);
  });

  it('transfers long output whole, at the speed of its reader', async () => {
    let bytes = 0;
    await run('head -c 3000000 /dev/zero', {
      onStdout: async (chunk) => {
        bytes += chunk.length;
        await new Promise(setImmediate);
      },
    });
    expect(bytes).toBe(3_000_000);
  });

  it('ends with its children when its signal aborts', async () => {
    const stop = new AbortController();
    const { ended } = await begin(stop.signal);
    stop.abort(new Error('the user said stop'));
    expect(await ended).toMatchObject({ message: 'the user said stop' });
    await expectNothingLeft();
  });

  it('ends with its children when the connection is cut', async () => {
    const { ended } = await begin();
    node.cut();
    expect(await ended).toMatchObject({
      kind: 'Retryable',
      message: expect.stringMatching(/^the connection to tester@127\.0\.0\.1:\d+ was lost/) as string,
    });
    await expectNothingLeft();
  });

  it('leaves no process of its session behind', async () => {
    const { exitCode } = await run(`${sleep()} & exit 4`);
    expect(exitCode).toBe(4);
    await expectNothingLeft();
  });

  it('fails where the login shell runs no commands', async () => {
    node.faults.loginShell = ['/bin/sh', '-c', 'echo This account is closed.; exit 1', 'sh'];
    await expect(run('true')).rejects.toMatchObject({
      kind: 'Invalid',
      message: expect.stringContaining('This account is closed.') as string,
    });
  });
});

describe('an archive for a command', () => {
  const signal = new AbortController().signal;
  const archiveOf = (folder: string): Readable =>
    Readable.from(create({ cwd: folder, gzip: true, portable: true }, ['.']));

  it('is unpacked with modes where the command runs', async () => {
    const source = join(node.home, 'source');
    mkdirSync(join(source, 'sub'), { recursive: true });
    writeFileSync(join(source, 'run.sh'), '#!/bin/sh\ncat sub/data\n', { mode: 0o755 });
    writeFileSync(join(source, 'sub/data'), 'content');
    await unpack(connection, 'work', archiveOf(source), signal);
    expect(await run('./run.sh')).toMatchObject({ exitCode: 0, stdout: 'content' });
  });

  it('that cannot be unpacked is an error with the words of the node', async () => {
    const source = join(node.home, 'source');
    mkdirSync(source);
    writeFileSync(join(node.home, 'work'), 'a file is in the way');
    await expect(unpack(connection, 'work', archiveOf(source), signal)).rejects.toMatchObject({
      kind: 'Invalid',
      message: expect.stringMatching(/^cannot unpack files on tester@[^]*work/) as string,
    });
    expect(readFileSync(join(node.home, 'work'), 'utf8')).toBe('a file is in the way');
  });
});
