import { spawn } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { currentPath } from '../../src/store/store.js';
import { compile } from '../harness/compile.js';
import { startNode, type TestNode } from '../harness/ssh-server.js';

let compiled: string;
let node: TestNode;
beforeEach(async () => {
  // Everything that output goes through in a worker: connection, task log with a secret to hide, store with a
  // cap.
  compiled = compile([
    'src/ssh/pool.ts',
    'src/ssh/shell.ts',
    'src/activities/task-log.ts',
    'src/store/folder.ts',
    'src/secrets/redact.ts',
  ]);
  writeFileSync(
    join(compiled, 'worker.js'),
    `
    import { readFileSync } from 'node:fs';
    import { createPool } from './src/ssh/pool.js';
    import { createShell } from './src/ssh/shell.js';
    import { openTaskLog } from './src/activities/task-log.js';
    import { createFolderStore } from './src/store/folder.js';
    import { createRedactor } from './src/secrets/redact.js';
    const { target, folder, scripts, logged } = JSON.parse(process.argv[2]);
    const pool = createPool();
    const redactor = createRedactor(['a secret that is looked for']);
    const log = openTaskLog(createFolderStore({ folder, logLimit: 1_000_000 }), 'uid/node-1/task.log', () => redactor);
    // Without the log what the process takes; with it what it holds on to, for strings are collected when the
    // engine likes.
    const held = () => {
      if (!logged) return process.memoryUsage.rss();
      gc();
      const { heapUsed, arrayBuffers } = process.memoryUsage();
      return heapUsed + arrayBuffers;
    };
    const outcomes = [];
    let first = 0, most = 0, bytes = 0, next = 0;
    for (const [index, script] of scripts.entries()) {
      const shell = createShell({ pool, target, runId: 'out.' + index, onOutput: (stream, chunk) => {
        bytes += chunk.length;
        if (bytes >= next) {
          next += 5_000_000;
          most = Math.max(most, held());
        }
        return logged ? log.print(stream, chunk) : undefined;
      } });
      const { exitCode, stdout, stderr } = await shell.run({ text: script });
      outcomes.push({ exitCode, stdout: stdout.length, stderr: stderr.length, cut: /bytes omitted/.test(stdout) });
      // What the first, small one took belongs to the process itself.
      if (index === 0) first = most = held();
    }
    const tails = log.tails();
    await log.close();
    await pool.closeAll();
    console.log(JSON.stringify({ outcomes, grown: most - first, tail: tails.stdout?.length ?? 0 }));
  `,
  );
  node = await startNode();
});
afterEach(async () => {
  await node.close();
  rmSync(compiled, { recursive: true });
});

interface Report {
  readonly outcomes: readonly {
    readonly exitCode: number;
    readonly stdout: number;
    readonly stderr: number;
    readonly cut: boolean;
  }[];
  readonly grown: number;
  readonly tail: number;
}

const scripts = [
  'head -c 2000000 /dev/urandom; head -c 2000000 /dev/urandom >&2',
  'head -c 200000000 /dev/zero | tr "\\0" y; head -c 50000000 /dev/zero >&2; exit 3',
  'head -c 50000000 /dev/urandom',
];

async function run(logged: boolean): Promise<Report> {
  const task = { target: node.target, folder: join(compiled, 'store'), scripts, logged };
  const worker = spawn(process.execPath, ['--expose-gc', join(compiled, 'worker.js'), JSON.stringify(task)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return JSON.parse(await text(worker.stdout as Readable)) as Report;
}

test.each([
  ['a worker grows by less than 50 MB', false],
  ['a worker that logs it holds less than 50 MB of it', true],
])('300 MB of binary output without a line break: %s', async (_name, logged) => {
  const { outcomes, grown, tail } = await run(logged);
  expect(outcomes).toMatchObject([{ exitCode: 0 }, { exitCode: 3, cut: true }, { exitCode: 0, cut: true }]);
  for (const { stdout, stderr } of outcomes) expect(Math.max(stdout, stderr)).toBeLessThan(66_000);
  expect(grown).toBeLessThan(50_000_000);
  if (!logged) return;
  expect(tail).toBeLessThanOrEqual(2_048);
  const path = currentPath('uid/node-1/task.log');
  const log = readFileSync(join(compiled, 'store/logs', path), 'utf8');
  expect(log.length).toBeLessThan(1_001_000);
  expect(log).toContain('this log was cut at 1000000 bytes');
});
