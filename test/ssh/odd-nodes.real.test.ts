import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createPool, type ConnectionPool } from '../../src/ssh/pool.js';
import { createShell } from '../../src/ssh/shell.js';
import { commandsOf, findCommand, makeBin, posixCommands, writeCommand } from '../support/node-bin.js';
import { countLines, processesWith, runOn, until } from '../support/run-fixture.js';
import { startNode, type NodeOptions, type TestNode } from '../support/ssh-server.js';

let folder: string;
let pool: ConnectionPool;
let node: TestNode | undefined;
const undo: (() => void)[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'heddle-odd-'));
  pool = createPool();
});
afterEach(async () => {
  await pool.closeAll();
  await node?.close();
  for (const step of undo.splice(0)) step();
  rmSync(folder, { recursive: true, force: true });
});

async function start(options: NodeOptions = {}): Promise<TestNode> {
  return node = await startNode(options);
}

/** A node whose only commands are these; `sh` is the given shell. */
function startWith(shell: string, commands: Readonly<Record<string, string | undefined>>): Promise<TestNode> {
  return start({ env: { PATH: makeBin(join(folder, 'bin'), { sh: shell, ...commands }) } });
}

const script = { text: 'echo x >> "$HOME/count"; cat; sleep 0.1; echo err >&2; exit 3', stdin: 'input\n' };
const stubborn = { text: 'sh -c "sleep 64; : $HOME" & touch "$HOME/running"; sleep 65; : end' };

describe('with only a POSIX shell and a few commands', () => {
  const busybox = findCommand('busybox');
  const nodes: readonly (readonly [string, string | undefined, Readonly<Record<string, string | undefined>>])[] = [
    ['dash', findCommand('dash'), { ...commandsOf(posixCommands), setsid: findCommand('setsid') }],
    ['bash', findCommand('bash'), { ...commandsOf(posixCommands), setsid: findCommand('setsid') }],
    ['bash without setsid and perl, by job control', findCommand('bash'), commandsOf(posixCommands)],
    ['dash without setsid, by perl', findCommand('dash'), { ...commandsOf(posixCommands), perl: findCommand('perl') }],
    ['busybox', busybox, Object.fromEntries([...posixCommands, 'setsid'].map((name) => [name, busybox]))],
  ];
  test.for(nodes)('%s: a run starts, ends and can be cancelled', { timeout: 60_000 }, async ([name, shell, commands], { skip }) => {
    if (shell === undefined) return skip(`${name} is not installed here`);
    const odd = await startWith(shell, commands);
    const { home } = odd;
    expect(await runOn(odd, pool, 'run', script)).toMatchObject({ reason: 'exit', exitCode: 3, stdout: 'input\n', stderr: 'err\n' });
    expect(await runOn(odd, pool, 'run', script)).toMatchObject({ reason: 'exit', exitCode: 3, stdout: 'input\n' });
    expect(countLines(join(home, 'count'))).toBe(1);
    const cancel = new AbortController();
    const run = runOn(odd, pool, 'cancel', stubborn, { signal: cancel.signal });
    await until('the script runs', () => existsSync(join(home, 'running')));
    cancel.abort();
    expect(await run).toMatchObject({ reason: 'cancel' });
    await until('its processes are gone', () => processesWith(home).length === 0);
  });

  test('where nothing gives a process group, the script is refused and not started', async () => {
    const odd = await startWith(findCommand('dash') ?? '/bin/sh', commandsOf(posixCommands));
    await expect(runOn(odd, pool, 'run', script)).rejects.toMatchObject({ kind: 'Invalid', message: expect.stringContaining('install setsid (util-linux) or perl') });
    expect(countLines(join(odd.home, 'count'))).toBe(0);
  });
});

describe('with a login that is not quiet', () => {
  test.each([
    ['a message of the day', 'Welcome!\r\nLast login: never\n'],
    ['noise without a line end', 'Welcome! '],
    ['much noise', 'x'.repeat(50_000)],
  ])('%s is no part of the output', async (_name, noise) => {
    const odd = await start();
    odd.faults.noise = noise;
    expect(await runOn(odd, pool, 'run', script)).toMatchObject({ exitCode: 3, stdout: 'input\n' });
    const shell = createShell({ pool, target: odd.target, runId: 'x' });
    expect(await shell.exec(['echo', 'a b'])).toEqual({ exitCode: 0, stdout: 'a b\n', stderr: '' });
    await shell.putFile('file', 'content');
  });

  test('a login script that prints on both streams is no part of the output', async () => {
    const odd = await start();
    odd.faults.loginShell = [findCommand('dash') ?? '/bin/sh', '-c', 'echo hello; echo warning >&2; exec /bin/sh -c "$0"'];
    expect(await runOn(odd, pool, 'run', script)).toMatchObject({ exitCode: 3, stdout: 'input\n', stderr: 'err\n' });
    expect(await createShell({ pool, target: odd.target, runId: 'x' }).exec(['sh', '-c', 'echo out; echo err >&2'])).toEqual({ exitCode: 0, stdout: 'out\n', stderr: 'err\n' });
  });

  test.for(['bash', 'zsh', 'fish', 'csh', 'tcsh', 'ksh'])('%s as the login shell', async (name, { skip }) => {
    const shell = findCommand(name);
    if (shell === undefined) return skip(`${name} is not installed here`);
    const odd = await start();
    odd.faults.loginShell = [shell, '-c'];
    expect(await runOn(odd, pool, 'run', script)).toMatchObject({ exitCode: 3, stdout: 'input\n' });
  });

  test('an account without a shell is said to be one', async () => {
    const odd = await start();
    odd.faults.loginShell = ['/bin/sh', '-c', 'echo This account is currently not available.; exit 1'];
    const wanted = { kind: 'Invalid', message: expect.stringContaining('does not run commands') };
    await expect(runOn(odd, pool, 'run', script)).rejects.toMatchObject(wanted);
    await expect(createShell({ pool, target: odd.target, runId: 'x' }).exec(['true'])).rejects.toMatchObject(wanted);
  });
});

describe('with sudo', () => {
  test('a refusal of sudo is Auth, with its words, and nothing is started', async () => {
    writeCommand(folder, 'sudo', '#!/bin/sh\necho "sudo: a password is required" >&2\nexit 1\n');
    const odd = await start({ env: { PATH: `${folder}:/usr/bin:/bin` } });
    await expect(runOn(odd, pool, 'run', { ...script, sudo: true })).rejects.toMatchObject({ kind: 'Auth', message: expect.stringContaining('a password is required') });
    expect(existsSync(odd.runs)).toBe(false);
  });

  test('the whole run is root\'s: one sudo -n, root\'s own home', async () => {
    const root = join(folder, 'root');
    execFileSync('mkdir', [root]);
    writeCommand(folder, 'sudo', `#!/bin/sh\n[ "$1 $2" = "-n -H" ] || exit 1\nshift 2\necho x >> "${folder}/sudos"\nHOME=${root} exec "$@"\n`);
    const odd = await start({ env: { PATH: `${folder}:/usr/bin:/bin` } });
    expect(await runOn(odd, pool, 'run', { ...script, sudo: true })).toMatchObject({ exitCode: 3, stdout: 'input\n' });
    expect(await runOn(odd, pool, 'run', { ...script, sudo: true })).toMatchObject({ exitCode: 3 });
    expect(countLines(join(root, 'count'))).toBe(1);
    expect(countLines(join(folder, 'sudos'))).toBe(2);
  });
});

describe('with a full disk', () => {
  test('that holds no upload, a script is refused and not started', async () => {
    const odd = await start();
    // 4 KiB a file, which is what the shell of every command allows from now on.
    odd.faults.loginShell = ['/bin/sh', '-c', 'ulimit -f 8; exec /bin/sh -c "$0"'];
    await expect(runOn(odd, pool, 'run', { text: `echo x >> "$HOME/count"; #${'.'.repeat(100_000)}` }))
      .rejects.toMatchObject({ kind: 'Invalid', message: expect.stringContaining('disk full on node') });
    expect(countLines(join(odd.home, 'count'))).toBe(0);
  });

  test('that fills under a script, its exit code 0 is no success', async ({ skip }) => {
    const home = mountSmall('size=256k');
    if (home === undefined) return skip('no small file system can be mounted here: that takes root');
    const odd = await start({ home });
    const run = createShell({ pool, target: odd.target, runId: 'fills' }).run({ text: 'dd if=/dev/zero of="$HOME/big" bs=1024 count=1000; exit 0' });
    await expect(run).rejects.toMatchObject({ kind: 'ScriptFailed', message: expect.stringContaining('disk full on node') });
  });

  test('nothing can be claimed or written, and that is what is said', async ({ skip }) => {
    const home = mountSmall('size=64k');
    if (home === undefined) return skip('no small file system can be mounted here: that takes root');
    const odd = await start({ home });
    expect(() => writeFileSync(join(home, 'big'), Buffer.alloc(100_000))).toThrow('ENOSPC');
    const shell = createShell({ pool, target: odd.target, runId: 'none' });
    await expect(shell.run(script)).rejects.toMatchObject({ kind: 'Invalid', message: expect.stringContaining('disk full on node') });
    await expect(shell.putFile('x', 'content')).rejects.toMatchObject({ kind: 'Invalid', message: expect.stringContaining('No space left') });
    expect(existsSync(join(home, 'x'))).toBe(false);
    rmSync(join(home, 'big'));
    expect(await shell.run(script)).toMatchObject({ exitCode: 3 });
  });
});

test('a home from which nothing may be executed runs scripts all the same', async ({ skip }) => {
  const home = mountSmall('noexec,size=1m');
  if (home === undefined) return skip('no noexec file system can be mounted here: that takes root');
  const odd = await start({ home });
  writeCommand(home, 'probe', '#!/bin/sh\n');
  expect(() => execFileSync(join(home, 'probe'))).toThrow('EACCES');
  expect(await runOn(odd, pool, 'run', script)).toMatchObject({ exitCode: 3, stdout: 'input\n' });
});

test('a run folder of another user is said to be one', async () => {
  const odd = await start();
  writeFileSync(join(odd.home, '.heddle'), 'a file where the folder should be');
  await expect(runOn(odd, pool, 'run', script)).rejects.toMatchObject({ kind: 'Invalid', message: expect.stringMatching(/cannot keep the run.*File exists|Not a directory/) });
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
