import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, inject, it } from 'vitest';
import { commandPath } from '../harness/cli/run-heddle.js';
import { newFolder } from '../harness/folder.js';

const isRoot = process.getuid?.() === 0;
const ownMounts = isRoot ? '-m' : '-rm';

const canMount = (): boolean =>
  spawnSync('unshare', [ownMounts, 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0;

/** Why port 80 does not serve for the test; undefined if it does. */
async function whyNotPort80(): Promise<string | undefined> {
  const first = Number(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8'));
  if (first <= 80) return `every user may listen at ports from ${first} here`;
  const isUsed = await once(connect(80, '127.0.0.1'), 'connect').then(
    () => true,
    () => false,
  );
  if (isUsed) return 'port 80 is in use';
  return isRoot && spawnSync('setpriv', ['--version']).status !== 0 ? 'it needs setpriv' : undefined;
}

let folder: string;
beforeEach(async () => {
  folder = newFolder();
  await mkdir(join(folder, 'data'), { mode: 0o700 });
});

interface Ended {
  readonly code: number | null;
  readonly stderr: string;
}

function run(program: string, words: readonly string[]): Ended {
  const env = {
    PATH: commandPath,
    HOME: '/nonexistent',
    TEMPORAL_CLI: inject('temporalBinary'),
    HEDDLE_DATA_FOLDER: join(folder, 'data'),
  };
  const { status, stderr } = spawnSync(program, words, {
    env,
    cwd: folder,
    encoding: 'utf8',
    timeout: 60_000,
    killSignal: 'SIGKILL',
  });
  return { code: status, stderr };
}

const main = (): string => join(inject('distPath'), 'cli-bundle', 'main.js');

/** The command runs after the first key was created, on a file system of its own without space left. */
function onFullDisk(command: string): Ended {
  const script = `
    mount -t tmpfs -o size=64k,mode=700 none data && "$0" "$1" keys create > /dev/null
    head -c 100000 /dev/zero > data/filling 2> /dev/null
    exec "$0" "$1" ${command}`;
  return run('unshare', [ownMounts, 'sh', '-c', script, process.execPath, main()]);
}

it.for([
  [
    'keys rotate',
    /^error\[Failed\]: keys cannot be written to .*data\/keys: no space is left there\. Free some space there and try again/,
  ],
  [
    'keys export data/copy',
    /^error\[Failed\]: cannot write data\/copy: no space is left there; free some space there, or name a file elsewhere/,
  ],
  [
    'provider add x --type docker --file data/heddle.yaml',
    /data\/heddle\.yaml cannot be written: no space is left there/,
  ],
  ['dev --port 0', /error\[Failed\]: the data folder .*data cannot be written: no space is left there/],
] as const)(
  'a full disk is reported with the file or folder, and code 1: %s',
  ([command, told], { skip }) => {
    if (!canMount()) return skip('it needs unshare and the right to mount');
    const ended = onFullDisk(command);
    expect(ended.stderr).toMatch(told);
    expect(ended.code).toBe(1);
  },
);

it.for(['--port', '--ui-port'])(
  'a port of the system is refused with exit code 2: %s 80',
  async (option, { skip }) => {
    const why = await whyNotPort80();
    if (why !== undefined) return skip(why);
    const command = [process.execPath, main(), 'dev', option, '80'];
    const { code, stderr } = isRoot
      ? run('setpriv', ['--bounding-set=-net_bind_service', ...command])
      : run(process.execPath, command.slice(1));
    expect(stderr).toMatch(
      /error\[Invalid\]: this user may not listen at port 80: choose a port from 1024, or 0/,
    );
    expect(code).toBe(2);
  },
);
