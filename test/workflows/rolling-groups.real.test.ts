import { beforeAll, describe, expect, it } from 'vitest';
import type { WaitResult } from '../../src/client/wait.js';
import type { ClusterSpec } from '../../src/model/cluster/spec.js';
import { type Stack, startStack } from '../harness/stack.js';
import { type Ledger, openLedger } from '../harness/workflows/ledger.js';
import { closed, nodes } from '../harness/workflows/spec.js';
import { newFolder } from '../harness/folder.js';

const patience = { everyMs: 100 } as const;
const apps = ['app-1', 'app-2', 'app-3', 'app-4', 'app-5', 'app-6'];

/** Two nodes in the cluster's own workflow, and the others in groups of three. */
const scale = { inlineNodes: 2, groupNodes: 3, inFlight: 20 };

describe('a service that rolls over nodes of several groups', () => {
  let folder: string;
  let stack: Stack;
  let ledger: Ledger;
  beforeAll(async () => {
    folder = newFolder();
    ledger = openLedger(folder);
    stack = await startStack({ config: { scale } });
    await stack.startWorker();
  });

  const sees = `while read -r node hostname address number services; do case ",$services," in *,app,*) list="$list $node" ;; esac; done <"$HEDDLE_NODES"; echo "$HEDDLE_CLUSTER $HEDDLE_NODE routes$list" >>"$LEDGER"`;

  /** Six nodes behind two routers, which write down what they route to. */
  function behindRouters(name: string, start: string, rolling: object = {}): ClusterSpec {
    return closed({
      name,
      nodes: { app: nodes(6, ['app']), lb: nodes(2, ['lb']) },
      services: {
        app: {
          peers: 'none',
          rolling: { batch: 2, drain: ['lb'], ...rolling },
          actions: { start: ledger.script({ body: start }), stop: ledger.script() },
        },
        lb: {
          runtime: { requires: ['app'] },
          peers: 'dependencies',
          actions: { configure: ledger.script({ body: sees }), start: ledger.script() },
        },
      },
    });
  }

  async function apply(spec: ClusterSpec): Promise<WaitResult> {
    const { operation } = await stack.client.apply(spec);
    return stack.client.waitFor(spec.name, operation, patience);
  }

  async function restart(name: string): Promise<WaitResult> {
    const { operation } = await stack.client.operate(name, { kind: 'restart', services: ['app'] });
    return stack.client.waitFor(name, operation, patience);
  }

  /**
   * Checks that each node was out of both routers while it was down, and gives the most that
   * were down at once.
   */
  function mostDownAtOnce(lines: readonly string[]): number {
    const routed: Record<string, readonly string[]> = { 'lb-1': apps, 'lb-2': apps };
    const down = new Set<string>();
    let most = 0;
    for (const line of lines) {
      const [, node = '', what = '', ...rest] = line.split(' ');
      if (what === 'routes') routed[node] = rest;
      const moment = `${what} ${rest.join(' ')}`;
      if (moment === 'app STOP begin') {
        for (const list of Object.values(routed)) expect(list).not.toContain(node);
        down.add(node);
      }
      if (moment === 'app START end') down.delete(node);
      for (const list of Object.values(routed)) for (const other of down) expect(list).not.toContain(other);
      most = Math.max(most, down.size);
    }
    expect(down).toEqual(new Set());
    return most;
  }

  it.concurrent('is drained on the routers of every group before each batch stops, and brought back after it', async () => {
    const first = await apply(behindRouters('wide', ':'));
    expect(first.operation.state).toBe('done');
    expect(first.status.groups?.map((group) => group.nodes)).toEqual([3, 3]);
    const before = (await ledger.lines('wide ')).length;
    expect((await restart('wide')).operation.state).toBe('done');
    const lines = (await ledger.lines('wide ')).slice(before);
    expect(mostDownAtOnce(lines)).toBe(2);
    expect(lines.filter((line) => line.endsWith(' app STOP begin'))).toHaveLength(6);
    for (const router of ['lb-1', 'lb-2']) {
      const last = lines.findLast((line) => line.startsWith(`wide ${router} routes`)) ?? '';
      expect(last.split(' ').slice(3).toSorted()).toEqual(apps);
    }
  });

  it.concurrent('goes on without one failed node in the whole cluster, and is held at the second', async () => {
    const breaks = (...broken: readonly string[]): string =>
      `case " ${broken.join(' ')} " in *" $HEDDLE_NODE "*) exit 7 ;; esac`;
    expect((await apply(behindRouters('frail', ':', { maxFailures: 1 }))).operation.state).toBe('done');
    const one = await apply(behindRouters('frail', breaks('app-3'), { maxFailures: 1 }));
    expect(one.operation).toMatchObject({
      state: 'done',
      missing: { count: 1, nodes: ['app-3'], groups: { app: 1 }, services: { app: 1 } },
    });
    // In different groups.
    const two = await apply(behindRouters('frail', breaks('app-3', 'app-6'), { maxFailures: 1 }));
    expect(two.operation).toMatchObject({ state: 'held', missing: { count: 1 } });
    const mended = await apply(behindRouters('frail', 'true', { maxFailures: 1 }));
    expect(mended.operation.state).toBe('done');
    expect(mended.operation.missing).toBeUndefined();
  });
});
