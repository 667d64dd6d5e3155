import { beforeAll, describe, expect, it } from 'vitest';
import { isEmptyPlan } from '../../src/model/plan/plan.js';
import type { ClusterSpec } from '../../src/model/cluster/spec.js';
import { parseSpec } from '../../src/schema/cluster/read.js';
import { type Stack, startStack, type WorkerProcess } from '../harness/stack.js';

/** Two nodes and a reader of their addresses; each script leaves a line in its node's journal. */
export function webSpec(
  name: string,
  count: number,
  changes: { readonly configure?: string } = {},
): ClusterSpec {
  const say = (what: string) => ({ type: 'shell', fields: { script: `echo "${what}" >>"$HOME/journal"` } });
  const parsed = parseSpec({
    name,
    nodes: {
      app: { count, provider: 'local', hardware: 'small', image: 'host', services: ['app'] },
      lb: { count: 1, provider: 'local', hardware: 'small', image: 'host', services: ['lb'] },
    },
    services: {
      app: {
        peers: 'none',
        actions: {
          install: say('install app'),
          start: say('start app'),
          stop: say('stop app'),
          remove: say('remove app'),
        },
      },
      lb: {
        requires: ['app'],
        actions: {
          install: say('install lb'),
          start: say('start lb'),
          stop: say('stop lb'),
          configure: {
            type: 'shell',
            fields: {
              script:
                changes.configure ??
                'set -e; cut -d" " -f1 "$HEDDLE_NODES" | sort | tr "\\n" " " >"$HOME/peers"; echo "peers=$(cat "$HOME/peers")" >>"$HEDDLE_RESULT"',
            },
          },
        },
      },
    },
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.spec;
}

describe('a cluster', () => {
  let stack: Stack;
  let worker: WorkerProcess;
  beforeAll(async () => {
    stack = await startStack();
    worker = await stack.startWorker();
  });

  it('is created, scaled up and down, and deleted without leftovers', async () => {
    const { client, service } = stack;
    const created = await client.apply(webSpec('life', 2));
    const { operation, status } = await client.waitFor('life', created.operation);
    expect(operation.reason).toBeUndefined();
    expect(operation.state).toBe('done');
    expect(status.nodes.map((node) => [node.nodeId, node.state])).toEqual([
      ['app-1', 'ready'],
      ['app-2', 'ready'],
      ['lb-1', 'ready'],
    ]);
    expect(await service.machines()).toHaveLength(3);

    const again = await client.apply(webSpec('life', 2));
    expect((await client.waitFor('life', again.operation)).operation).toMatchObject({
      state: 'done',
      unchanged: true,
    });
    expect(isEmptyPlan((await client.plan(webSpec('life', 2))).plan)).toBe(true);

    const grown = await client.apply(webSpec('life', 3));
    expect((await client.waitFor('life', grown.operation)).operation.state).toBe('done');
    expect((await client.payload('life', 'lb-1'))['peers']).toBe('app-1 app-2 app-3 lb-1 ');

    const shrunk = await client.apply(webSpec('life', 1));
    expect((await client.waitFor('life', shrunk.operation)).operation.state).toBe('done');
    expect((await client.payload('life', 'lb-1'))['peers']).toBe('app-1 lb-1 ');
    expect(await service.machines()).toHaveLength(2);

    const { operation: deletion = '' } = await client.delete('life');
    expect((await client.waitFor('life', deletion)).operation.state).toBe('done');
    expect(await service.machines()).toHaveLength(0);
    expect(await service.journal('create')).toHaveLength(4);
    expect(worker.output()).not.toContain('"level":"error"');
  });

  it('stays if its workflow is cancelled from outside, which would leave machines behind', async () => {
    const { client, service } = stack;
    await client.waitFor('stays', (await client.apply(webSpec('stays', 1))).operation);
    const before = (await service.machines()).length;
    await client.temporal.workflow.getHandle('cluster/stays').cancel();
    const grown = await client.apply(webSpec('stays', 2));
    expect((await client.waitFor('stays', grown.operation)).operation.state).toBe('done');
    expect(await service.machines()).toHaveLength(before + 1);
    const { operation = '' } = await client.delete('stays');
    await client.waitFor('stays', operation);
  });

  it('is held when a task fails, and continues from there with the corrected spec', async () => {
    const { client } = stack;
    const broken = await client.apply(webSpec('broken', 1, { configure: 'echo "no such file" >&2; exit 3' }));
    const held = await client.waitFor('broken', broken.operation);
    expect(held.operation).toMatchObject({ state: 'held' });
    expect(held.operation.reason).toContain('CONFIGURE of lb on lb-1 failed');
    const failure = held.status.nodes.find((node) => node.nodeId === 'lb-1')?.failure;
    expect(failure).toMatchObject({ kind: 'ScriptFailed', exitCode: 3, stderr: 'no such file\n' });

    const { nodes, ...rest } = webSpec('broken', 1);
    const elsewhere = {
      ...rest,
      nodes: Object.fromEntries(
        Object.entries(nodes).map(([id, group]) => [id, { ...group, provider: 'nowhere' }]),
      ),
    };
    const rejected = await client.waitFor('broken', (await client.apply(elsewhere)).operation);
    expect(rejected.operation.state).toBe('rejected');
    expect(rejected.status.operation).toMatchObject({ id: broken.operation, state: 'held' });

    const corrected = await client.apply(webSpec('broken', 1));
    const { operation } = await client.waitFor('broken', corrected.operation);
    expect(operation).toMatchObject({ state: 'done', tasks: { total: 2, done: 2 } });
    const { operation: deletion = '' } = await client.delete('broken');
    await client.waitFor('broken', deletion);
  });
});
