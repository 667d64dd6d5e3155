import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { defaultRunFolders } from '../../src/model/node/run-folders.js';
import { createPool, type ConnectionPool } from '../../src/ssh/pool.js';
import { runOnce } from '../../src/ssh/run.js';
import type { RunEnd, RunOptions } from '../../src/ssh/run-options.js';
import { runFolder } from '../harness/run-fixture.js';
import { outsideOf, startNode, type TestNode } from '../harness/ssh-server.js';
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

const mebibyte = 1024 ** 2;
const bounds = { ...defaultRunFolders, outputMb: 1 };
/** 5,000,000 bytes of numbered lines: what was left out and what was not can be told apart. */
const text = 'seq 1000000 1624999; echo done >&2';
const all = Array.from({ length: 625_000 }, (_, index) => `${1_000_000 + index}\n`).join('');

function run(runId: string, script: string, options: Partial<RunOptions> = {}): Promise<RunEnd> {
  return runOnce(
    { runId, script: { text: script }, bounds },
    { connect: () => pool.acquire(node.target), ...options },
  );
}

const waitForGo = 'until [ -e "$HOME/go" ]; do sleep 0.05; done';

test('of much output the node keeps the first and the last part, and a later attempt says what is missing', async () => {
  const first: Buffer[] = [];
  const end = await run('large', text, { onOutput: (_, chunk) => void first.push(Buffer.from(chunk)) });
  expect(end).toMatchObject({ reason: 'exit', exitCode: 0, stderr: 'done\n' });
  const kept = statSync(join(runFolder(node, 'large'), 'out'));
  expect(kept.size).toBe(all.length);
  expect(kept.blocks * 512).toBeLessThanOrEqual(mebibyte + 65_536);

  const later: Buffer[] = [];
  const notes: string[] = [];
  const again = await run('large', 'echo never', {
    onOutput: (stream, chunk) => void (stream === 'stdout' && later.push(Buffer.from(chunk))),
    onNote: (note) => void notes.push(note),
  });
  expect(again).toMatchObject({ reason: 'exit', exitCode: 0, stderr: 'done\n' });
  expect(again.stdout).toMatch(/^1000000\n.*\[\.\.\. \d+ bytes omitted \.\.\.\]\n.*1624999\n$/s);
  const [, from = '', to = ''] = /all but the bytes from (\d+) to (\d+)$/.exec(notes[0] ?? '') ?? [];
  expect(notes).toHaveLength(1);
  expect(notes[0]).toContain(join(runFolder(node, 'large'), 'out'));
  const [begin, rest] = [Number(from), Number(to)];
  expect(begin).toBe(mebibyte / 2);
  expect(Buffer.concat(later).toString()).toBe(all.slice(0, begin) + all.slice(rest));
});

test('an attempt that follows the run gets all of its output', async () => {
  const chunks: Buffer[] = [];
  const end = await run('followed', `seq 1000000 1100000; ${waitForGo}; seq 1100001 1624999`, {
    onOutput: (_, chunk) => {
      chunks.push(Buffer.from(chunk));
      writeFileSync(join(node.home, 'go'), '');
    },
  });
  expect(end).toMatchObject({ exitCode: 0 });
  expect(Buffer.concat(chunks).toString()).toBe(all);
});

test('after a lost connection output continues where it stood, without what was not kept', async () => {
  const chunks: Buffer[] = [];
  await run('cut', `seq 1000000 1020000; ${waitForGo}; seq 1020001 1624999`, {
    onOutput: async (_, chunk) => {
      if (chunks.push(Buffer.from(chunk)) > 1) return;
      node.cut();
      writeFileSync(join(node.home, 'go'), '');
      await until('the end of the run', () => existsSync(join(runFolder(node, 'cut'), 'rc')));
    },
  });
  const printed = Buffer.concat(chunks).toString();
  const [, to = ''] = readFileSync(join(runFolder(node, 'cut'), 'out.cut'), 'utf8')
    .trim()
    .split(' ');
  const rest = all.slice(Number(to));
  expect(printed).toBe(all.slice(0, printed.length - rest.length) + rest);
  expect(printed.length - rest.length).toBe(mebibyte / 2);
});

test('output within the bound stays as it is', async () => {
  await run('small', 'seq 1000000 1100000');
  const files = readdirSync(runFolder(node, 'small'));
  expect(files.filter((name) => name.startsWith('out'))).toEqual(['out']);
  expect(statSync(join(runFolder(node, 'small'), 'out')).size).toBe(800_008);
});

test('output of a script that removed its run folder is bounded too', async () => {
  const end = await run('removed', 'rm -rf "$HOME/.heddle"; seq 1000000 1624999');
  expect(end.stdout).toMatch(/1624999\n$/);
  const files = outsideOf(node.runs).flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('/out'))
      .map((name) => statSync(join(folder, name))),
  );
  expect(files.map(({ size }) => size)).toEqual([all.length]);
  expect(files[0]?.blocks).toBeLessThanOrEqual((mebibyte + 65_536) / 512);
});
