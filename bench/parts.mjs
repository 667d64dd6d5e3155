// The parts of a cluster of shell steps, each by itself: what it takes at least.
import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { createPool } from '../dist/ssh/pool.js';
import { probe } from '../dist/ssh/probe.js';
import { createShell } from '../dist/ssh/shell.js';
import { machineCounters } from './stack.mjs';

/** Seconds, and CPU seconds of the machine. @param {() => Promise<unknown>} work */
async function measure(work) {
  const before = machineCounters().cpu;
  const began = performance.now();
  await work();
  return { seconds: (performance.now() - began) / 1_000, cpu: machineCounters().cpu - before };
}

/**
 * As many empty activities in chains, by a plain Temporal worker.
 * @param {import('./stack.mjs').Stack} stack
 * @param {{ nodes: number, tasks: number, name: string }} size
 */
export async function measureTemporal(stack, { nodes, tasks, name }) {
  const worker = await stack.startBareWorker();
  const connection = await Connection.connect({ address: stack.server.address });
  try {
    /** @type {(workflowId: string, length: number) => Promise<unknown>} */
    const run = (workflowId, length) =>
      new Client({ connection }).workflow.execute('chains', {
        taskQueue: 'bare',
        workflowId,
        args: [nodes, length],
      });
    await run(`${name}-first`, 2);
    return await measure(() => run(name, tasks / nodes));
  } finally {
    await worker.stop();
    await connection.close();
  }
}

/**
 * Heddle's SSH part without Temporal: a login to each node, and as many scripts there, each of them run once.
 * @param {readonly string[]} addresses
 * @param {{ folder: string, port: number }} sshd
 * @param {{ scripts: number, name: string }} options
 */
export async function measureSsh(addresses, sshd, { scripts, name }) {
  const [type, key] = readFileSync(join(sshd.folder, 'host.pub'), 'utf8').split(' ');
  const pool = createPool();
  try {
    return await measure(() =>
      Promise.all(
        addresses.map(async (host) => {
          const target = {
            host,
            port: sshd.port,
            user: userInfo().username,
            privateKey: readFileSync(join(sshd.folder, 'user'), 'utf8'),
            hostKey: `${type} ${key}`,
          };
          await probe(target, { keep: (connection) => pool.add(target, connection) });
          for (let number = 1; number <= scripts; number += 1) {
            const fence = { node: host, time: Date.now(), operation: name };
            const runId = `${name}-${host}-${number}.1`;
            const { exitCode } = await createShell({ pool, target, runId, fence }).run({ text: 'true' });
            if (exitCode !== 0) throw new Error(`${runId} ended with ${exitCode}`);
          }
        }),
      ),
    );
  } finally {
    await pool.closeAll();
  }
}
