// Updates and queries of one workflow at once, of a plain Temporal worker: how long each caller waits. It shows
// why no task of Heddle asks a workflow that many others update.
// Usage: npm run bench -- queries [--callers 8] [--times 100]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { openStack } from './stack.mjs';

const { values } = parseArgs({
  options: { callers: { type: 'string', default: '8' }, times: { type: 'string', default: '100' } },
});
const [callers, times] = [Number(values.callers), Number(values.times)];
const stack = await openStack();
const connection = await Connection.connect({ address: stack.server.address });
const worker = spawn(
  process.execPath,
  [fileURLToPath(new URL('bare-worker.mjs', import.meta.url)), stack.server.address],
  { stdio: ['ignore', 'pipe', 'inherit'] },
);
try {
  await once(worker.stdout, 'data');
  const { workflow } = new Client({ connection });
  const handle = await workflow.start('counter', { taskQueue: 'bare', workflowId: 'counter' });
  const update = () => handle.executeUpdate('add');
  const query = () => handle.query('count');
  await measure('updates', [update]);
  await measure('queries', [query]);
  await measure('both', [update, query]);
} finally {
  worker.kill('SIGTERM');
  await connection.close();
  await stack.close();
}

/**
 * As many callers of each kind, each of which calls so many times in order.
 * @param {string} title
 * @param {readonly (() => Promise<unknown>)[]} kinds
 */
async function measure(title, kinds) {
  const began = performance.now();
  const waits = await Promise.all(
    kinds.map(async (call) => {
      const all = Array.from({ length: callers }, async () => {
        const own = [];
        for (let time = 0; time < times; time += 1) {
          const asked = performance.now();
          await call();
          own.push(performance.now() - asked);
        }
        return own;
      });
      return (await Promise.all(all)).flat().toSorted((one, other) => one - other);
    }),
  );
  const seconds = (performance.now() - began) / 1_000;
  const words = kinds.map(
    (call, index) =>
      `${call.name === 'update' ? 'update' : 'query'} p50 ${waits[index][waits[index].length >> 1].toFixed(0)} ms, longest ${waits[index][waits[index].length - 1].toFixed(0)} ms`,
  );
  console.log(
    `${title}: ${callers} callers of each kind, ${times} times: ${seconds.toFixed(1)} s; ${words.join('; ')}; load ${loadavg()[0].toFixed(1)}`,
  );
}
