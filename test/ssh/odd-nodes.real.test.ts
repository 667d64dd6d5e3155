import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { defaultRunFolders } from '../../src/model/node/run-folders.js';
import { createPool, type ConnectionPool } from '../../src/ssh/pool.js';
import { runOnce } from '../../src/ssh/run.js';
import { runFolderName } from '../../src/ssh/run-upload.js';
import { createShell } from '../../src/ssh/shell.js';
import { commandsOf, findCommand, makeBin, posixCommands, writeCommand } from '../harness/node-bin.js';
import { countLines, runFolder, runOn } from '../harness/run-fixture.js';
import { processesWith } from '../harness/processes.js';
import { startNode, type NodeOptions, type TestNode } from '../harness/ssh-server.js';
import { until } from '../harness/until.js';
import { newFolder } from '../harness/folder.js';

let folder: string;
let pool: ConnectionPool;
let node: TestNode | undefined;
const undo: (() => void)[] = [];
beforeEach(() => {
  folder = newFolder();
  pool = createPool();
});
afterEach(async () => {
  await pool.closeAll();
  await node?.close();
  for (const step of undo.splice(0)) step();
});

async function start(options: NodeOptions = {}): Promise<TestNode> {
  return (node = await startNode(options));
}

/** A node whose only commands are these; `sh` is the given shell. */
function startWith(shell: string, commands: Readonly<Record<string, string | undefined>>): Promise<TestNode> {
  return start({ env: { PATH: makeBin(join(folder, 'bin'), { sh: shell, ...commands }) } });
}

const script = { text: 'echo x >> "$HOME/count"; cat; sleep 0.1; echo err >&2; exit 3', stdin: 'input\n' };
const stubborn = { text: 'sh -c "sleep 64; : $HOME" & touch "$HOME/running"; sleep 65; : end' };

describe('with only a POSIX shell and a few commands', () => {
  const busybox = findCommand('busybox');
  const nodes: readonly (readonly [
    string,
    string | undefined,
    Readonly<Record<string, string | undefined>>,
  ])[] = [
    ['dash', findCommand('dash'), { ...commandsOf(posixCommands), setsid: findCommand('setsid') }],
    ['bash', findCommand('bash'), { ...commandsOf(posixCommands), setsid: findCommand('setsid') }],
    ['bash without setsid and perl, by job control', findCommand('bash'), commandsOf(posixCommands)],
    [
      'dash without setsid, by perl',
      findCommand('dash'),
      { ...commandsOf(posixCommands), perl: findCommand('perl') },
    ],
    ['busybox', busybox, Object.fromEntries([...posixCommands, 'setsid'].map((name) => [name, busybox]))],
  ];
  test.for(nodes)(
    '%s: a run starts, ends, keeps a part of much output, and can be cancelled',
    async ([name, shell, commands], { skip }) => {
      if (shell === undefined) return skip(`${name} is not installed here`);
      const odd = await startWith(shell, commands);
      const { home } = odd;
      expect(await runOn(odd, pool, 'run', script)).toMatchObject({
        reason: 'exit',
        exitCode: 3,
        stdout: 'input\n',
        stderr: 'err\n',
      });
      expect(await runOn(odd, pool, 'run', script)).toMatchObject({
        reason: 'exit',
        exitCode: 3,
        stdout: 'input\n',
      });
      expect(countLines(join(home, 'count'))).toBe(1);
      const large = { text: 'dd if=/dev/zero bs=65536 count=40 2>/dev/null' };
      await runOnce(
        { runId: 'large', script: large, bounds: { ...defaultRunFolders, outputMb: 1 } },
        { connect: () => pool.acquire(odd.target) },
      );
      const { size, blocks } = statSync(join(runFolder(odd, 'large'), 'out'));
      expect([size, blocks * 512]).toEqual([40 * 65_536, 16 * 65_536]);
      const cancel = new AbortController();
      const run = runOn(odd, pool, 'cancel', stubborn, { signal: cancel.signal });
      await until('the script runs', () => existsSync(join(home, 'running')));
      cancel.abort();
      expect(await run).toMatchObject({ reason: 'cancel' });
      await until('its processes are gone', () => processesWith(home).length === 0);
      const deaf = { text: `trap "" TERM; touch "$HOME/deaf"; while :; do sleep 0.1; done; : ${home}` };
      const turn = { node: 'node', time: 1, operation: '1' };
      const zombie = runOnce(
        { runId: 'deaf', script: deaf, fence: turn },
        { connect: () => pool.acquire(odd.target) },
      );
      await until('the deaf script runs', () => existsSync(join(home, 'deaf')));
      const next = {
        runId: 'next',
        script: { text: 'echo alone' },
        fence: { ...turn, time: 2, operation: '2' },
      };
      expect(await runOnce(next, { connect: () => pool.acquire(odd.target) })).toMatchObject({
        exitCode: 0,
        stdout: 'alone\n',
      });
      expect(await zombie).toMatchObject({ reason: 'superseded' });
      await until('nothing is left of it', () => processesWith(home).length === 0);
    },
  );

  test('without a way to create a process group, the script is refused and not started', async () => {
    const odd = await startWith(findCommand('dash') ?? '/bin/sh', commandsOf(posixCommands));
    await expect(runOn(odd, pool, 'run', script)).rejects.toMatchObject({
      kind: 'Invalid',
      message: expect.stringContaining('install setsid (util-linux) or perl'),
    });
    expect(countLines(join(odd.home, 'count'))).toBe(0);
  });
});

describe('with a noisy login', () => {
  test.each([
    ['a message of the day', 'Welcome!\r\nLast login: never\n'],
    ['noise without a line end', 'Welcome! '],
    ['much noise', 'x'.repeat(50_000)],
  ])('%s is not part of the output', async (_name, noise) => {
    const odd = await start();
    odd.faults.noise = noise;
    expect(await runOn(odd, pool, 'run', script)).toMatchObject({ exitCode: 3, stdout: 'input\n' });
    const shell = createShell({ pool, target: odd.target, runId: 'x' });
    expect(await shell.exec(['echo', 'a b'])).toEqual({ exitCode: 0, stdout: 'a b\n', stderr: '' });
    await shell.putFile('file', 'content');
  });

  test('output of a login script on both streams is not part of the output', async () => {
    const odd = await start();
    odd.faults.loginShell = [
      findCommand('dash') ?? '/bin/sh',
      '-c',
      'echo hello; echo warning >&2; exec /bin/sh -c "$0"',
    ];
    expect(await runOn(odd, pool, 'run', script)).toMatchObject({
      exitCode: 3,
      stdout: 'input\n',
      stderr: 'err\n',
    });
    expect(
      await createShell({ pool, target: odd.target, runId: 'x' }).exec([
        'sh',
        '-c',
        'echo out; echo err >&2',
      ]),
    ).toEqual({ exitCode: 0, stdout: 'out\n', stderr: 'err\n' });
  });

  test.for(['bash', 'zsh', 'fish', 'csh', 'tcsh', 'ksh'])('%s as the login shell', async (name, { skip }) => {
    const shell = findCommand(name);
    if (shell === undefined) return skip(`${name} is not installed here`);
    const odd = await start();
    odd.faults.loginShell = [shell, '-c'];
    expect(await runOn(odd, pool, 'run', script)).toMatchObject({ exitCode: 3, stdout: 'input\n' });
  });

  test('messages contain no control characters from a node', async () => {
    const odd = await start();
    odd.faults.loginShell = [
      '/bin/sh',
      '-c',
      'printf "\\033[2Jgone\\r\\n\\342\\200\\256ERROR all is well\\007" >&2; exit 1',
    ];
    for (const attempt of [
      () => runOn(odd, pool, 'run', script),
      () => createShell({ pool, target: odd.target, runId: 'x' }).exec(['true']),
    ]) {
      const { message } = await attempt().then(
        () => new Error('no error'),
        (error: Error) => error,
      );
      expect(message).toContain('?[2Jgone ?ERROR all is well?');
    }
  });

  test('an account without a shell is reported as such', async () => {
    const odd = await start();
    odd.faults.loginShell = ['/bin/sh', '-c', 'echo This account is currently not available.; exit 1'];
    const wanted = { kind: 'Invalid', message: expect.stringContaining('does not run commands') };
    await expect(runOn(odd, pool, 'run', script)).rejects.toMatchObject(wanted);
    await expect(createShell({ pool, target: odd.target, runId: 'x' }).exec(['true'])).rejects.toMatchObject(
      wanted,
    );
  });
});

describe('with sudo', () => {
  test('a refusal of sudo is Auth, with its message, and nothing is started', async () => {
    writeCommand(folder, 'sudo', '#!/bin/sh\necho "sudo: a password is required" >&2\nexit 1\n');
    const odd = await start({ env: { PATH: `${folder}:/usr/bin:/bin` } });
    await expect(runOn(odd, pool, 'run', { ...script, sudo: true })).rejects.toMatchObject({
      kind: 'Auth',
      message: expect.stringContaining('a password is required'),
    });
    expect(readdirSync(odd.runs)).toEqual(['.fences']);
  });

  test("the whole run belongs to root: each command by one sudo -n, in root's own home", async () => {
    const root = join(folder, 'root');
    execFileSync('mkdir', [root]);
    writeCommand(
      folder,
      'sudo',
      `#!/bin/sh\n[ "$1 $2" = "-n -H" ] || exit 1\nshift 2\necho x >> "${folder}/sudos"\nHOME=${root} exec "$@"\n`,
    );
    const odd = await start({ env: { PATH: `${folder}:/usr/bin:/bin` } });
    expect(await runOn(odd, pool, 'run', { ...script, sudo: true })).toMatchObject({
      exitCode: 3,
      stdout: 'input\n',
    });
    expect(await runOn(odd, pool, 'run', { ...script, sudo: true })).toMatchObject({ exitCode: 3 });
    expect(countLines(join(root, 'count'))).toBe(1);
    // How many commands a run takes depends on how long it takes.
    expect(countLines(join(folder, 'sudos'))).toBe(odd.commands.length);
    expect(readdirSync(odd.runs)).toEqual(['.fences']);
  });
});

describe('with a full disk', () => {
  test('a script whose upload does not fit is refused and not started', async () => {
    const odd = await start();
    // 4 KiB a file, which is what the shell of every command allows from now on.
    odd.faults.loginShell = ['/bin/sh', '-c', 'ulimit -f 8; exec /bin/sh -c "$0"'];
    await expect(
      runOn(odd, pool, 'run', { text: `echo x >> "$HOME/count"; #${'.'.repeat(100_000)}` }),
    ).rejects.toMatchObject({ kind: 'Invalid', message: expect.stringContaining('disk full on node') });
    expect(countLines(join(odd.home, 'count'))).toBe(0);
  });

  test('a script that fills the disk is not a success, even with exit code 0', async ({ skip }) => {
    const home = mountSmall('size=256k');
    if (home === undefined) return skip('no small file system can be mounted here: that takes root');
    const odd = await start({ home });
    const run = createShell({ pool, target: odd.target, runId: 'fills' }).run({
      text: 'dd if=/dev/zero of="$HOME/big" bs=1024 count=1000; exit 0',
    });
    await expect(run).rejects.toMatchObject({
      kind: 'ScriptFailed',
      message: expect.stringContaining('disk full on node'),
    });
  });

  test('a failed claim or write is reported as a full disk', async ({ skip }) => {
    const home = mountSmall('size=64k');
    if (home === undefined) return skip('no small file system can be mounted here: that takes root');
    const odd = await start({ home });
    expect(() => writeFileSync(join(home, 'big'), Buffer.alloc(100_000))).toThrow('ENOSPC');
    const shell = createShell({ pool, target: odd.target, runId: 'none' });
    await expect(shell.run(script)).rejects.toMatchObject({
      kind: 'Invalid',
      message: expect.stringContaining('disk full on node'),
    });
    await expect(shell.putFile('x', 'content')).rejects.toMatchObject({
      kind: 'Invalid',
      message: expect.stringContaining('No space left'),
    });
    expect(existsSync(join(home, 'x'))).toBe(false);
    rmSync(join(home, 'big'));
    expect(await shell.run(script)).toMatchObject({ exitCode: 3 });
  });
});

test('a noexec home executes scripts', async ({ skip }) => {
  const home = mountSmall('noexec,size=1m');
  if (home === undefined) return skip('no noexec file system can be mounted here: that takes root');
  const odd = await start({ home });
  writeCommand(home, 'probe', '#!/bin/sh\n');
  expect(() => execFileSync(join(home, 'probe'))).toThrow('EACCES');
  expect(await runOn(odd, pool, 'run', script)).toMatchObject({ exitCode: 3, stdout: 'input\n' });
});

describe('with a read-only home', () => {
  const spare = `/var/tmp/heddle-${process.getuid?.()}`;
  const inSpare = (runId: string): string => join(spare, 'runs', runFolderName(runId));

  test('a run goes to /var/tmp, once, and later attempts find it there although the home is writable by then', async ({
    skip,
  }) => {
    const home = mountSmall('ro');
    if (home === undefined) return skip('no file system can be mounted read-only here: that takes root');
    const odd = await start({ home });
    const id = `read-only-${randomUUID()}`;
    const count = join(folder, 'count');
    const own = existsSync(spare) ? inSpare(id) : spare;
    undo.push(() => rmSync(own, { recursive: true, force: true }));
    const once = { text: 'echo x >> "$COUNT"; cat; exit 3', stdin: 'input\n', environment: { COUNT: count } };
    const turn = { node: id, time: 1, operation: '1' };
    const run = () =>
      runOnce({ runId: id, script: once, fence: turn }, { connect: () => pool.acquire(odd.target) });
    expect(await run()).toMatchObject({ exitCode: 3, stdout: 'input\n' });
    execFileSync('mount', ['-o', 'remount,rw', home]);
    expect(await run()).toMatchObject({ exitCode: 3, stdout: 'input\n' });
    expect(countLines(count)).toBe(1);
    expect(existsSync(inSpare(id))).toBe(true);
    expect(statSync(spare).mode & 0o077).toBe(0);
    for (const entry of readdirSync(join(spare, 'runs/.fences')))
      if (entry.endsWith(runFolderName(id))) rmSync(join(spare, 'runs/.fences', entry));
  });

  test("another user's folder is not used", async ({ skip }) => {
    const home = mountSmall('ro');
    if (home === undefined || existsSync(spare))
      return skip(
        home === undefined
          ? 'no file system can be mounted read-only here: that takes root'
          : `${spare} is in use`,
      );
    undo.push(() => rmSync(spare, { force: true }));
    symlinkSync(folder, spare);
    const odd = await start({ home });
    await expect(runOn(odd, pool, 'x', script)).rejects.toMatchObject({
      kind: 'Invalid',
      message: expect.stringContaining('cannot take the place of the home'),
    });
    expect(readdirSync(folder)).not.toContain('runs');
  });
});

test('a run folder of another user is reported as such', async () => {
  const odd = await start();
  writeFileSync(join(odd.home, '.heddle'), 'a file where the folder should be');
  await expect(runOn(odd, pool, 'run', script)).rejects.toMatchObject({
    kind: 'Invalid',
    message: expect.stringMatching(/cannot keep the run.*File exists|Not a directory/),
  });
});

function mountSmall(options: string): string | undefined {
  const home = join(folder, 'home');
  try {
    execFileSync('mkdir', ['-p', home]);
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', home], { stdio: 'pipe' });
  } catch {
    return undefined;
  }
  undo.push(() => execFileSync('umount', ['-l', home]));
  return home;
}
