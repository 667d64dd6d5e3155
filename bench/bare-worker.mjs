// A plain Temporal worker: a workflow whose chains of empty activities run side by side.
// Usage: node bench/bare-worker.mjs ADDRESS
import { fileURLToPath } from 'node:url';
import { NativeConnection, Runtime, Worker } from '@temporalio/worker';

const drop = () => {};
Runtime.install({
  logger: { trace: drop, debug: drop, info: drop, warn: drop, error: console.error, log: drop },
  shutdownSignals: [],
});
const [, , address] = process.argv;
const worker = await Worker.create({
  connection: await NativeConnection.connect({ address }),
  taskQueue: 'bare',
  workflowsPath: fileURLToPath(new URL('bare-workflow.mjs', import.meta.url)),
  maxConcurrentActivityTaskExecutions: 300,
  maxConcurrentWorkflowTaskExecutions: 40,
  activities: { empty: async () => ({}) },
});
console.log('worker is ready');
process.on('SIGTERM', () => worker.shutdown());
await worker.run();
process.exit(0);
