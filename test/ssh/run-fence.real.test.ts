import { cpSync, existsSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { defaultRunFolders, type RunFolders } from '../../src/model/node/run-folders.js';
import type { Script } from '../../src/plugins/contract.js';
import { createPool, type ConnectionPool } from '../../src/ssh/pool.js';
import { runOnce } from '../../src/ssh/run.js';
import type { RunEnd, RunOptions, Fence } from '../../src/ssh/run-options.js';
import { writeCommand } from '../harness/node-bin.js';
import { countLines, runFolder } from '../harness/run-fixture.js';
import { processesWith } from '../harness/processes.js';
import { outsideOf, startNode, type TestNode } from '../harness/ssh-server.js';
import { until } from '../harness/until.js';
import { newFolder } from '../harness/folder.js';

let node: TestNode;
let pool: ConnectionPool;
let bin: string;
beforeEach(async () => {
  bin = newFolder();
  node = await startNode({ env: { PATH: `${bin}:/usr/bin:/bin` } });
  pool = createPool();
});
afterEach(async () => {
  await pool.closeAll();
  await node.close();
});

const turn = (time: number, operation = String(time), of = 'uid/app-1#1'): Fence => ({
  node: of,
  time,
  operation,
});
function run(
  runId: string,
  of: Fence | undefined,
  text: string,
  more: Partial<RunOptions & { readonly script: Partial<Script>; readonly bounds: RunFolders }> = {},
): Promise<RunEnd> {
  const { script, bounds, ...options } = more;
  return runOnce(
    { runId, script: { text, ...script }, bounds, fence: of },
    { connect: () => pool.acquire(node.target), ...options },
  );
}
/** Says that it runs and goes on for good, with a child that may not mind TERM. */
const endless = (name: string, trap = ''): string =>
  `sh -c '${trap} touch "$HOME/running-${name}"; while :; do sleep 0.1; done; : $HOME' & wait; : end`;
const runs = (name: string): boolean => existsSync(join(node.home, `running-${name}`));
/** Two scripts at once would both be between a line that begins and one that ends. */
const marked = (name: string): string =>
  `echo "begin ${name}" >> "$HOME/ledger"; /bin/sleep 0.1; echo "end ${name}" >> "$HOME/ledger"`;
const entries = (): string[] => readdirSync(join(node.runs, '.fences'));

test('a running script of an earlier operation is ended first, with all its processes, and logged', async () => {
  const zombie = run('old/INSTALL.1', turn(1), endless('old', 'trap "" TERM;'));
  await until('the zombie runs', () => runs('old'));
  // Its worker is cut off; nobody cancelled it.
  node.cut();
  const notes: string[] = [];
  const end = await run(
    'new/STOP.1',
    turn(2),
    `ls "$HOME/.heddle"; kill -0 "$(cut -d' ' -f1 "${runFolder(node, 'old/INSTALL.1')}/starts")" 2>/dev/null || echo alone`,
    {
      onNote: (text) => {
        notes.push(text);
      },
    },
  );
  expect(end).toMatchObject({ reason: 'exit', stdout: 'runs\nalone\n' });
  expect(notes).toEqual(['ended first: old_INSTALL.1, a script of operation 1 that still ran']);
  expect(await zombie).toMatchObject({ reason: 'superseded' });
  await until('nothing is left of it', () => processesWith(node.home).length === 0);
});

test('a late attempt of an earlier operation starts nothing, even after the later one has ended', async () => {
  await run('new', turn(2), 'true');
  await expect(run('old', turn(1), 'touch "$HOME/never"')).rejects.toMatchObject({
    kind: 'Retryable',
    message: expect.stringContaining('a later task of this node has begun'),
  });
  expect(existsSync(join(node.home, 'never'))).toBe(false);
  // The later operation itself is not disturbed by it.
  expect(await run('newer', turn(2, '2'), 'echo on')).toMatchObject({ stdout: 'on\n' });
});

test('an earlier run without its supervisor is ended too if its script still runs', async () => {
  const detach = new AbortController();
  const zombie = run('old', turn(1), endless('old'), { detach: detach.signal });
  await until('the zombie runs', () => runs('old'));
  const supervisor = Number.parseInt(readFileSync(join(runFolder(node, 'old'), 'pid'), 'utf8'), 10);
  // Its worker goes first: nobody looks after it.
  detach.abort();
  await expect(zombie).rejects.toMatchObject({ kind: 'Retryable' });
  process.kill(supervisor, 'SIGKILL');
  const notes: string[] = [];
  expect(
    await run('new', turn(2), 'echo alone', {
      onNote: (text) => {
        notes.push(text);
      },
    }),
  ).toMatchObject({ stdout: 'alone\n' });
  expect(notes).toHaveLength(1);
  await until('nothing is left of it', () => processesWith(node.home).length === 0);
});

test.each([
  ['at once', 0],
  ['one after the other', 30],
])(
  'of many operations that come %s, no two scripts run at once, and the latest is executed',
  async (_name, pauseMs) => {
    const count = 8;
    const waits: Promise<RunEnd>[] = [];
    const order = Array.from({ length: count }, (_, index) => ((index * 5) % count) + 1);
    for (const time of order) {
      waits.push(run(`run-${time}`, turn(time), marked(String(time))));
      if (pauseMs > 0)
        await new Promise((resolve) => {
          setTimeout(resolve, pauseMs);
        });
    }
    const ends = await Promise.allSettled(waits);
    expect(ends[order.indexOf(count)]).toMatchObject({
      status: 'fulfilled',
      value: { reason: 'exit', exitCode: 0 },
    });
    const lines = readFileSync(join(node.home, 'ledger'), 'utf8').trim().split('\n');
    const started = lines.filter((line) => line.startsWith('begin'));
    expect(new Set(started).size).toBe(started.length);
    // One that was ended leaves no end, and then none of its may come after the next began.
    lines.forEach((line, index) => {
      if (line.startsWith('end')) expect(lines[index - 1]).toBe(line.replace('end', 'begin'));
    });
    expect(lines.at(-1)).toBe(`end ${count}`);
  },
);

test('scripts of one attempt, attempts of one run, and other nodes of the machine do not end each other', async () => {
  const text = 'touch "$HOME/up-$0"; until [ -e "$HOME/go" ]; do sleep 0.05; done; echo done';
  const waiting = (name: string): string => text.replace('$0', name);
  const all = [
    run('task.1.a', turn(5), waiting('a')),
    run('task.1.b', turn(5), waiting('b')),
    run('other', turn(9, '1', 'uid/app-2#1'), waiting('c')),
    run('untold', undefined, waiting('d')),
  ];
  await until('all run', () =>
    ['a', 'b', 'c', 'd'].every((name) => existsSync(join(node.home, `up-${name}`))),
  );
  all.push(run('task.1.a', turn(6), 'echo never'), run('task.1.a', turn(4), 'echo never'));
  writeFileSync(join(node.home, 'go'), '');
  for (const end of await Promise.all(all)) expect(end).toMatchObject({ reason: 'exit', stdout: 'done\n' });
});

test('scripts with sudo and without exclude each other', async () => {
  const root = join(bin, 'root');
  writeCommand(
    bin,
    'sudo',
    `#!/bin/sh\n[ "$1 $2" = "-n -H" ] || exit 1\nshift 2\nmkdir -p ${root}\necho x >> ${bin}/sudos\nHOME_OF_LOGIN=$HOME HOME=${root} exec "$@"\n`,
  );
  const sudo = { script: { sudo: true } };
  const first = run(
    'one',
    turn(1),
    `touch "$HOME_OF_LOGIN/root-runs"; ${endless('x').replaceAll('$HOME', '$HOME_OF_LOGIN')}`,
    sudo,
  );
  await until("root's script runs", () => existsSync(join(node.home, 'root-runs')));
  expect(await run('two', turn(2), 'echo alone')).toMatchObject({ stdout: 'alone\n' });
  expect(await first).toMatchObject({ reason: 'superseded' });
  const second = run('three', turn(3), endless('login'));
  await until("the login's script runs", () => runs('login'));
  expect(await run('four', turn(4), 'echo alone', sudo)).toMatchObject({ stdout: 'alone\n' });
  expect(await second).toMatchObject({ reason: 'superseded' });
  await pool.closeAll();
  await until('nothing is left of it', () => processesWith(node.home).length === 0);
});

test('entries of ended runs do not accumulate', async () => {
  for (let time = 1; time <= 4; time++) await run(`run-${time}`, turn(time), 'true');
  expect(entries()).toHaveLength(1);
});

const hourMs = 3_600_000;
const days = (count: number): Date => new Date(Date.now() - count * 86_400_000);
const left = (): string[] =>
  readdirSync(node.runs)
    .filter((name) => !name.startsWith('.'))
    .map((name) => name.replace(/-[0-9a-f]{16}$/, ''))
    .toSorted();

test('folders of runs that ended long ago are removed once an hour, while the session stays busy', async () => {
  await run('old', turn(1, '1'), 'true');
  await run('recent', turn(2, '1'), 'true');
  await run('held', turn(3, '2'), 'echo kept; exit 4');
  await run('foreign', turn(3, '7', 'uid/app-2#1'), 'true');
  await run('ancient', turn(3, '7', 'uid/app-3#1'), 'true');
  const other = createPool();
  const connect = () => other.acquire(node.target);
  const script = 'touch "$HOME/up"; until [ -e "$HOME/go" ]; do sleep 0.05; done';
  const alive = run('alive', undefined, script, { connect });
  await until('it runs', () => existsSync(join(node.home, 'up')));
  const age = (count: number, ...names: string[]) => {
    for (const name of names) utimesSync(runFolder(node, name), days(count), days(count));
  };
  age(10, 'old', 'held', 'foreign');
  age(100, 'ancient', 'alive');
  // Of the operation under way, however old: its attempt may still come for the outcome.
  await run('next', turn(4 + hourMs, '2'), 'true');
  await until('the old one is gone', () => !left().includes('old'));
  expect(await run('held', turn(5 + hourMs, '2'), 'echo never')).toMatchObject({
    exitCode: 4,
    stdout: 'kept\n',
  });
  age(10, 'held');
  await run('later', turn(6 + 2 * hourMs, '3'), 'true');
  await until('the next are gone', () => left().length === 5);
  expect(left()).toEqual(['alive', 'foreign', 'later', 'next', 'recent']);
  await until('their records are gone too', () =>
    outsideOf(node.runs).every((folder) => readdirSync(folder).length === 6),
  );
  writeFileSync(join(node.home, 'go'), '');
  await alive;
  await other.closeAll();
});

test('of earlier operations the last hundred folders stay, and none of more than a megabyte', async () => {
  await run('first', turn(1, '1'), 'true');
  for (let copy = 1; copy <= 205; copy++)
    cpSync(runFolder(node, 'first'), join(node.runs, `copy-${copy}`), { recursive: true });
  await run('second', turn(2, '2'), 'head -c 2000000 /dev/zero');
  await until('a hundred are left', () => left().length === 101);
  await run('third', turn(3_600_003, '3'), 'true');
  await until('the large one is gone', () => !left().includes('second'));
});

test('beyond their size, number or age the oldest folders go, but no running one, and no run starts twice', async () => {
  const bounds = { ...defaultRunFolders, sizeMb: 1 };
  const script = 'echo x >> "$HOME/starts"; head -c 400000 /dev/zero; exit 4';
  for (const [time, name] of ['a', 'b', 'c'].entries()) await run(name, turn(time + 1, '1'), script);
  const other = createPool();
  const waiting = 'head -c 3000000 /dev/zero; touch "$HOME/up"; until [ -e "$HOME/go" ]; do sleep 0.05; done';
  const alive = run('alive', undefined, waiting, { connect: () => other.acquire(node.target) });
  await until('it runs', () => existsSync(join(node.home, 'up')));
  await run('d', turn(4 + hourMs, '1'), script, { bounds });
  await until('two that fit are left', () => !left().includes('a'));
  expect(left()).toEqual(['alive', 'c', 'd']);
  // With the places of the records emptied, as a clean-up of the system does.
  for (const folder of outsideOf(node.runs)) rmSync(folder, { recursive: true });
  await run('e', turn(5 + 2 * hourMs, '1'), script, { bounds: { ...defaultRunFolders, count: 3 } });
  await until('the oldest is gone', () => !left().includes('c'));
  utimesSync(runFolder(node, 'd'), days(3), days(3));
  await run('f', turn(6 + 3 * hourMs, '1'), script, { bounds: { ...defaultRunFolders, days: 2 } });
  await until('the one of three days is gone', () => !left().includes('d'));
  expect(left()).toEqual(['alive', 'e', 'f']);
  for (const name of ['c', 'd'])
    expect(await run(name, turn(7 + 3 * hourMs, '1'), script)).toMatchObject({ reason: 'exit', exitCode: 4 });
  expect(countLines(join(node.home, 'starts'))).toBe(6);
  writeFileSync(join(node.home, 'go'), '');
  expect(await alive).toMatchObject({ reason: 'exit', exitCode: 0 });
  await other.closeAll();
});

test('of many records the oldest go, but not that of a running script', async () => {
  const other = createPool();
  const waiting = 'touch "$HOME/up"; until [ -e "$HOME/go" ]; do sleep 0.05; done';
  const alive = run('alive', undefined, waiting, { connect: () => other.acquire(node.target) });
  await until('it runs', () => existsSync(join(node.home, 'up')));
  const outside = outsideOf(node.runs);
  const recordOf = (folder: string, name: string): string =>
    join(folder, `${runFolder(node, name).split('/').at(-1)}.claim`);
  for (const folder of outside) {
    writeFileSync(recordOf(folder, 'old'), 'claim 0 0 -\n');
    for (const name of ['alive', 'old']) utimesSync(recordOf(folder, name), days(3), days(3));
    for (let index = 0; index < 2_050; index++)
      writeFileSync(join(folder, `${index}.claim`), 'claim 0 0 -\n');
  }
  const bounds = { ...defaultRunFolders, count: 10 };
  await run('next', turn(1, '1'), 'true', { bounds });
  await until('the oldest is gone', () => outside.every((folder) => !existsSync(recordOf(folder, 'old'))));
  expect(outside.map((folder) => existsSync(recordOf(folder, 'alive')))).toEqual([true, true]);
  writeFileSync(join(node.home, 'go'), '');
  await alive;
  await other.closeAll();
});

test('much output of a busy node is removed at once, not only once an hour', async () => {
  const bounds = { ...defaultRunFolders, sizeMb: 4, outputMb: 2 };
  for (let time = 1; time <= 8; time++)
    await run(`run-${time}`, turn(time, '1'), 'head -c 5000000 /dev/zero', { bounds });
  await until('those that fit are left', () => left().length <= 2);
  expect(left()).toContain('run-8');
});

test('a hundred attempts that were abandoned while the first still runs start nothing more', async () => {
  const text =
    'echo x >> "$HOME/starts"; echo up; until [ -e "$HOME/go" ]; do sleep 0.05; done; echo done; exit 7';
  const pools = Array.from({ length: 5 }, () => createPool());
  const attempt = (index: number, options: Partial<RunOptions> = {}) =>
    run('task.1', turn(1_000 + index), text, {
      connect: () => (pools[index % 5] ?? pool).acquire(node.target),
      ...options,
    });
  const first = attempt(0);
  for (let wave = 0; wave < 20; wave++) {
    const given = [0, 1, 2, 3, 4].map(async (one) => {
      const detach = new AbortController();
      let seen = false;
      // Given up at once, when it has shown something, or together with its connection.
      const waiting = attempt(wave * 5 + one, {
        detach: detach.signal,
        onOutput: () => {
          seen = true;
        },
      });
      if (one > 0) await until('it shows what runs', () => seen || one === 1);
      detach.abort();
      await expect(waiting).rejects.toMatchObject({ kind: 'Retryable' });
    });
    await Promise.all(given);
    if (wave % 7 === 3) node.cut();
  }
  writeFileSync(join(node.home, 'go'), '');
  expect(await first).toMatchObject({ reason: 'exit', exitCode: 7, stdout: 'up\ndone\n' });
  expect(await attempt(200)).toMatchObject({ reason: 'exit', exitCode: 7, stdout: 'up\ndone\n' });
  expect(countLines(join(node.home, 'starts'))).toBe(1);
  expect(countLines(join(runFolder(node, 'task.1'), 'starts'))).toBe(1);
  await Promise.all(pools.map((one) => one.closeAll()));
});
