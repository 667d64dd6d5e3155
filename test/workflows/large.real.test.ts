import { beforeAll, describe, expect, it } from 'vitest';
import { settingOf } from '../harness/chaos/random.js';
import { type Stack, startStack } from '../harness/stack.js';
import { closed, nodes } from '../harness/workflows/spec.js';

/** More than the cluster's own workflow carries; HEDDLE_NODES=1000 takes minutes. */
const count = settingOf('HEDDLE_NODES', 120);

describe(`a cluster of ${count} nodes`, () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack();
    await stack.startWorker();
  });

  it('is created by a cluster workflow and its groups, and deleted', { timeout: 45 * 60_000 }, async () => {
    const { client, service } = stack;
    const action = { type: 'shell', fields: { script: 'echo "$HEDDLE_NODE"' } };
    const spec = closed({
      name: 'large',
      nodes: { db: nodes(10, ['db']), app: nodes(count - 10, ['app']) },
      services: {
        db: { actions: { start: action } },
        app: { runtime: { requires: ['db'] }, peers: 'dependencies', actions: { start: action } },
      },
    });
    const begun = Date.now();
    const { operation } = await client.apply(spec);
    const done = await client.waitFor('large', operation, { everyMs: 2_000, patienceMs: 10 * 60_000 });
    const seconds = (from: string | undefined, to: string | undefined): number =>
      (Date.parse(to ?? '') - Date.parse(from ?? '')) / 1_000;
    process.stdout.write(
      `create of ${count} nodes, ${done.operation.tasks.done} tasks: ${seconds(done.operation.startedAt, done.operation.endedAt)} s\n`,
    );
    expect(done.operation).toMatchObject({
      state: 'done',
      tasks: { done: 4 * count, total: 4 * count, failed: 0 },
    });
    expect(done.status.nodes).toHaveLength(count);
    expect(new Set(done.status.nodes.map(({ state }) => state))).toEqual(new Set(['ready']));
    const created = await service.journal('create');
    expect(created.filter(({ at }) => Date.parse(String(at)) >= begun - 1_000).length).toBeGreaterThanOrEqual(
      Math.min(count, 10_000),
    );
    const { operation: deletion = '' } = await client.delete('large');
    const gone = await client.waitFor('large', deletion, { everyMs: 2_000, patienceMs: 10 * 60_000 });
    process.stdout.write(`delete: ${seconds(gone.operation.startedAt, gone.operation.endedAt)} s\n`);
    expect(gone.operation.state).toBe('done');
    expect(await service.machines()).toEqual([]);
  });
});
