import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createPool, type ConnectionPool } from '../../src/ssh/pool.js';
import { compile } from '../harness/compile.js';
import { countLines, runOn } from '../harness/run-fixture.js';
import { startNode, type TestNode } from '../harness/ssh-server.js';
import { until } from '../harness/until.js';
import { newFolder } from '../harness/folder.js';

let compiled: string;
beforeAll(() => {
  compiled = compile(['src/model/node/run-folders.ts', 'src/ssh/pool.ts', 'src/ssh/run.ts']);
  writeFileSync(
    join(compiled, 'worker.js'),
    `
    import { defaultRunFolders } from './src/model/node/run-folders.js';
    import { createPool } from './src/ssh/pool.js';
    import { runOnce } from './src/ssh/run.js';
    const { target, runId, script } = JSON.parse(process.argv[2]);
    const pool = createPool();
    const bounds = { ...defaultRunFolders, outputMb: 200 };
    let bytes = 0, next = 0, most = 0;
    const onOutput = (_stream, chunk) => {
      bytes += chunk.length;
      if (bytes < next) return;
      next += 5_000_000;
      gc();
      most = Math.max(most, process.memoryUsage().arrayBuffers);
    };
    await runOnce({ runId, script, bounds }, { connect: () => pool.acquire(target), onOutput });
    await pool.closeAll();
    console.log(JSON.stringify({ bytes, most }));
  `,
  );
});
afterAll(() => rmSync(compiled, { recursive: true }));

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

function startWorker(runId: string, script: object): ChildProcess {
  return spawn(
    process.execPath,
    ['--expose-gc', join(compiled, 'worker.js'), JSON.stringify({ target: node.target, runId, script })],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
}

test('a worker killed while its script runs loses nothing: the next one attaches and gets all output and the exit code', async () => {
  const script = {
    text: 'echo x >> "$HOME/count"; echo first; until [ -e "$HOME/go" ]; do sleep 0.05; done; echo second; exit 6',
  };
  const worker = startWorker('killed', script);
  await until('the script runs', () => existsSync(join(node.home, 'count')));
  worker.kill('SIGKILL');
  await once(worker, 'exit');
  const next = runOn(node, pool, 'killed', script);
  writeFileSync(join(node.home, 'go'), '');
  expect(await next).toMatchObject({ reason: 'exit', exitCode: 6, stdout: 'first\nsecond\n' });
  expect(countLines(join(node.home, 'count'))).toBe(1);
});

test('a script that removes the folder of its run is not started again after its worker is killed', async () => {
  const witness = newFolder();
  const script = {
    text: `echo x >> ${witness}/count; find "$HOME" -mindepth 1 -delete; touch ${witness}/removed; until [ -e ${witness}/go ]; do sleep 0.05; done; echo done; exit 6`,
  };
  for (let kills = 0; kills < 3; kills++) {
    const worker = startWorker('removed', script);
    const commands = node.commands.length;
    await until(
      'it reached the node',
      () => node.commands.length > commands && existsSync(join(witness, 'removed')),
    );
    worker.kill('SIGKILL');
    await once(worker, 'exit');
  }
  const next = runOn(node, pool, 'removed', script);
  writeFileSync(join(witness, 'go'), '');
  expect(await next).toMatchObject({ reason: 'exit', exitCode: 6, stdout: 'done\n' });
  expect(countLines(join(witness, 'count'))).toBe(1);
  rmSync(witness, { recursive: true });
});

test('workers killed at any moment of a start, one after the other, lead to one execution', async () => {
  const script = { text: 'echo x >> "$HOME/count"; sleep 0.3; echo done', stdin: 'x'.repeat(60_000) };
  for (const delayMs of [0, 5, 15, 30, 60]) {
    const worker = startWorker('relay', script);
    const commands = node.commands.length;
    await until('it sent its command', () => node.commands.length > commands || worker.exitCode !== null);
    await new Promise((resolve) => {
      setTimeout(resolve, delayMs);
    });
    worker.kill('SIGKILL');
    if (worker.exitCode === null && worker.signalCode === null) await once(worker, 'exit');
  }
  expect(await runOn(node, pool, 'relay', script)).toMatchObject({
    reason: 'exit',
    exitCode: 0,
    stdout: 'done\n',
  });
  expect(countLines(join(node.home, 'count'))).toBe(1);
});

test('a worker keeps no more of a large output than a few buffers', async () => {
  const worker = startWorker('large', { text: 'head -c 150000000 /dev/zero' });
  const { bytes, most } = JSON.parse(await text(worker.stdout as Readable)) as {
    readonly bytes: number;
    readonly most: number;
  };
  expect(bytes).toBe(150_000_000);
  expect(most).toBeLessThan(50_000_000);
});

test('a process that closed its pool ends by itself', async () => {
  const worker = startWorker('short', { text: 'echo done' });
  const [code] = await once(worker, 'exit');
  expect(code).toBe(0);
});
