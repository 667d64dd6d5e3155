// Creates of clusters from 10 to 10,000 nodes whose tasks do nothing: time, memory, and size of the histories.
// Usage: npm run bench -- scale [NODES ...]; NODESxCLUSTERS creates several clusters at once.
import { loadavg } from 'node:os';
import { emptyCluster, openStack, peakMemory } from './stack.mjs';

const sizes = process.argv.length > 2 ? process.argv.slice(2) : ['10', '100', '1000', '10000'];
const stack = await openStack();
try {
  for (const size of sizes) {
    const [each, clusters = 1] = size.split('x').map(Number);
    const nodes = each * clusters;
    const names = Array.from({ length: clusters }, (_, index) => `scale-${size}-${index + 1}`);
    /** @param {number} everyMs */
    const applyAll = async (everyMs) => {
      // All end before the stack is closed, also if one fails.
      const ends = await Promise.allSettled(names.map((name) => create(name, each, everyMs)));
      const failed = ends.filter((end) => end.status === 'rejected');
      if (failed.length > 0)
        throw new Error(`${failed.length} of ${ends.length} failed`, { cause: failed[0].reason });
      return ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []));
    };
    const worker = await stack.startEmptyWorker();
    const { seconds, workerMs, serverMs } = await stack.measure(worker, async () =>
      (await applyAll(1_000)).reduce((sum, tasks) => sum + tasks, 0),
    );
    const memory = peakMemory(worker.pid);
    const began = performance.now();
    await applyAll(100);
    const again = (performance.now() - began) / 1_000;
    await worker.stop();
    const histories = (await Promise.all(names.map(historiesOf))).flat();
    const bytes = histories.reduce((sum, history) => sum + history.bytes, 0);
    console.log(
      `${clusters === 1 ? '' : `${clusters} clusters, `}${nodes} nodes: ${seconds.toFixed(1)} s, ${((seconds * 1_000) / nodes).toFixed(1)} ms per node; ` +
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

/**
 * @param {string} name
 * @param {number} nodes
 * @param {number} everyMs
 */
async function create(name, nodes, everyMs) {
  const { operation } = await stack.client.apply(emptyCluster(name, nodes));
  const end = await stack.client.waitFor(name, operation, { everyMs });
  if (end.operation.state !== 'done') throw new Error(end.operation.reason);
  return end.operation.tasks.done;
}

/** @param {string} name */
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

/**
 * @param {readonly { events: number, bytes: number }[]} histories
 * @param {'events' | 'bytes'} part
 */
function largest(histories, part) {
  return Math.max(...histories.map((history) => history[part]));
}
