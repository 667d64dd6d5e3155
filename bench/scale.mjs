// Creates of clusters from 10 to 10,000 nodes whose tasks do nothing: time, memory, and size of the histories.
// Usage: npm run bench -- scale [NODES ...]
import { loadavg } from 'node:os';
import { emptyCluster, openStack, peakMemory } from './stack.mjs';

const sizes = process.argv.length > 2 ? process.argv.slice(2).map(Number) : [10, 100, 1_000, 10_000];
const stack = await openStack();
try {
  for (const nodes of sizes) {
    const name = `scale-${nodes}`;
    const worker = await stack.startEmptyWorker();
    const { seconds, workerMs, serverMs } = await stack.measure(worker, async () => {
      const { operation } = await stack.client.apply(emptyCluster(name, nodes));
      const end = await stack.client.waitFor(name, operation, { everyMs: 1_000 });
      if (end.operation.state !== 'done') throw new Error(end.operation.reason);
      return end.operation.tasks.done;
    });
    const memory = peakMemory(worker.pid);
    const began = performance.now();
    const { operation } = await stack.client.apply(emptyCluster(name, nodes));
    await stack.client.waitFor(name, operation, { everyMs: 100 });
    const again = (performance.now() - began) / 1_000;
    await worker.stop();
    const histories = await historiesOf(name);
    const bytes = histories.reduce((sum, history) => sum + history.bytes, 0);
    console.log(
      `${nodes} nodes: ${seconds.toFixed(1)} s, ${((seconds * 1_000) / nodes).toFixed(1)} ms per node; ` +
        `CPU of a task: worker ${workerMs.toFixed(1)} ms, server ${serverMs.toFixed(1)} ms; worker ${memory} MB; ` +
        `the same file again: ${again.toFixed(1)} s; ${histories.length} histories, ` +
        `${(bytes / nodes / 1_024).toFixed(1)} KB per node, largest ${largest(histories, 'events')} events ` +
        `and ${(largest(histories, 'bytes') / 2 ** 20).toFixed(1)} MB; load ${loadavg()[0].toFixed(1)}`,
    );
  }
} finally {
  await stack.close();
}
process.exit();

async function historiesOf(name) {
  const { workflow } = stack.temporal;
  const histories = [];
  for await (const { workflowId, runId } of workflow.list({
    query: `WorkflowId = 'cluster/${name}' OR WorkflowId STARTS_WITH 'cluster/${name}/'`,
  })) {
    const { historyLength, historySize } = await workflow.getHandle(workflowId, runId).describe();
    histories.push({ events: historyLength, bytes: historySize ?? 0 });
  }
  return histories;
}

function largest(histories, part) {
  return Math.max(...histories.map((history) => history[part]));
}
