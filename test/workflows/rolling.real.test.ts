import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { OperateIntent } from '../../src/client/heddle-client.js';
import type { WaitResult } from '../../src/client/wait.js';
import type { ClusterSpec } from '../../src/model/cluster/spec.js';
import { type Stack, startStack } from '../harness/stack.js';
import { writeGatedAutomator } from '../harness/workflows/gated-automator.js';
import { type Ledger, openLedger } from '../harness/workflows/ledger.js';
import { closed, nodes } from '../harness/workflows/spec.js';
import { newFolder } from '../harness/folder.js';

const patience = { everyMs: 100 } as const;

describe('a service that rolls by its cluster file', () => {
  let folder: string;
  let stack: Stack;
  let ledger: Ledger;
  beforeAll(async () => {
    folder = newFolder();
    ledger = openLedger(folder);
    const plugins = join(folder, 'plugins');
    await writeGatedAutomator(plugins, `echo bootstrapped >>${join(folder, 'ledger')}`);
    stack = await startStack({ config: { plugins: [plugins] } });
    await stack.startWorker();
  });

  const sees = `while read -r node hostname address number services; do case ",$services," in *,app,*) list="$list $node" ;; esac; done <"$HEDDLE_NODES"; echo "$HEDDLE_CLUSTER routes$list" >>"$LEDGER"`;
  const breaks = (name: string): string =>
    `if [ "$HEDDLE_NODE" = app-2 ] && [ -e ${join(folder, name)} ]; then exit 7; fi`;

  /** Three nodes behind a router, which writes down what it routes to. */
  function behindRouter(name: string, rolling: object = {}, more: object = {}): ClusterSpec {
    return closed({
      name,
      nodes: { app: nodes(3, ['app']), lb: nodes(1, ['lb']) },
      services: {
        app: {
          peers: 'none',
          uses: { config: [] },
          rolling: { batch: 1, drain: ['lb'], ...rolling },
          actions: { start: ledger.script({ body: breaks(name) }), stop: ledger.script() },
        },
        lb: {
          runtime: { requires: ['app'] },
          peers: 'dependencies',
          uses: { config: ['colour'] },
          actions: {
            configure: ledger.script({ body: sees }),
            reload: ledger.script(),
            start: ledger.script(),
            stop: ledger.script(),
          },
        },
      },
      config: { colour: 'red', size: 1 },
      ...more,
    });
  }

  async function apply(spec: ClusterSpec): Promise<WaitResult> {
    const { operation } = await stack.client.apply(spec);
    return stack.client.waitFor(spec.name, operation, patience);
  }

  async function operate(name: string, intent: OperateIntent): Promise<WaitResult> {
    const { operation } = await stack.client.operate(name, intent);
    return stack.client.waitFor(name, operation, patience);
  }

  /** What the router routed to, and what started, stopped and reloaded, since a line was counted. */
  async function toldSince(name: string, count: number): Promise<readonly string[]> {
    const lines = (await ledger.lines(`${name} `)).slice(count).map((line) => line.slice(name.length + 1));
    return lines
      .filter((line) => line.startsWith('routes') || / (?:START|STOP|RELOAD) end$/.test(line))
      .map((line) => line.replace(/ end$/, ''));
  }

  const count = async (name: string): Promise<number> => (await ledger.lines(`${name} `)).length;
  const restart = { kind: 'restart', services: ['app'] } as const;

  it.concurrent('is drained, restarted and brought back, one batch after the other', async () => {
    await apply(behindRouter('drained'));
    const before = await count('drained');
    expect((await operate('drained', restart)).operation.state).toBe('done');
    expect(await toldSince('drained', before)).toEqual(
      ['app-1', 'app-2', 'app-3'].flatMap((node) => [
        `routes${['app-1', 'app-2', 'app-3']
          .filter((other) => other !== node)
          .map((other) => ` ${other}`)
          .join('')}`,
        'lb-1 lb RELOAD',
        `${node} app STOP`,
        `${node} app START`,
        'routes app-1 app-2 app-3',
        'lb-1 lb RELOAD',
      ]),
    );
    const again = await stack.client.plan(behindRouter('drained'));
    expect(again.plan.kinds).toEqual([]);
  });

  it.concurrent('stays drained where it fails, and the retry brings it back', async () => {
    await apply(behindRouter('held'));
    await writeFile(join(folder, 'held'), '');
    const before = await count('held');
    const held = await operate('held', restart);
    expect(held.operation.state).toBe('held');
    expect((await toldSince('held', before)).at(-1)).toBe('app-2 app STOP');
    await rm(join(folder, 'held'));
    const retried = await stack.client.retry('held');
    expect((await stack.client.waitFor('held', retried.operation, patience)).operation.state).toBe('done');
    expect((await toldSince('held', before)).slice(-8)).toEqual([
      'app-2 app STOP',
      'app-2 app START',
      'routes app-1 app-2',
      'lb-1 lb RELOAD',
      'app-3 app STOP',
      'app-3 app START',
      'routes app-1 app-2 app-3',
      'lb-1 lb RELOAD',
    ]);
  });

  it.concurrent('goes on without as many failed nodes as its file allows, and routes nothing to them', async () => {
    const spec = behindRouter('tolerant', { maxFailures: 1 });
    await apply(spec);
    await writeFile(join(folder, 'tolerant'), '');
    const before = await count('tolerant');
    const { operation, status } = await operate('tolerant', restart);
    expect(operation).toMatchObject({
      state: 'done',
      reason: expect.stringContaining('went on without a node'),
    });
    expect(status.nodes.filter(({ failure }) => failure !== undefined).map(({ nodeId }) => nodeId)).toEqual([
      'app-2',
    ]);
    expect((await toldSince('tolerant', before)).filter((line) => line.startsWith('routes'))).toEqual([
      'routes app-2 app-3',
      'routes app-1 app-2 app-3',
      'routes app-1 app-3',
      'routes app-1 app-3',
      'routes app-1',
      'routes app-1 app-3',
    ]);
    await rm(join(folder, 'tolerant'));
    expect((await apply(spec)).operation.state).toBe('done');
    expect((await toldSince('tolerant', before)).filter((line) => line.startsWith('routes')).at(-1)).toBe(
      'routes app-1 app-2 app-3',
    );
  });

  it.concurrent('counts only its own failures against what its file allows', async () => {
    const breaksOn = (node: string): string => `if [ "$HEDDLE_NODE" = ${node} ]; then exit 7; fi`;
    const service = (node: string): object => ({
      peers: 'none',
      rolling: { batch: 1, maxFailures: 1 },
      actions: { start: ledger.script({ body: breaksOn(node) }), stop: ledger.script() },
    });
    const spec = closed({
      name: 'counted',
      nodes: { app: nodes(3, ['app']), side: nodes(3, ['side']) },
      services: { app: service('app-2'), side: service('side-3') },
    });
    const { operation } = await apply(spec);
    expect(operation).toMatchObject({
      state: 'done',
      missing: { count: 2, groups: { app: 1, side: 1 }, services: { app: 1, side: 1 } },
    });
    expect(operation.missing?.nodes.toSorted()).toEqual(['app-2', 'side-3']);
  });

  it.concurrent('reloads readers of a changed key, and nothing else', async () => {
    await apply(behindRouter('config'));
    let before = await count('config');
    await apply(behindRouter('config', {}, { config: { colour: 'red', size: 2 } }));
    expect(await toldSince('config', before)).toEqual([]);
    const wanted = behindRouter('config', {}, { config: { colour: 'blue', size: 2 } });
    const { changes } = await stack.client.plan(wanted);
    expect(changes).toEqual([
      {
        path: 'config.colour',
        lines: [
          { sign: '-', text: 'red' },
          { sign: '+', text: 'blue' },
        ],
      },
    ]);
    before = await count('config');
    await apply(wanted);
    expect(await toldSince('config', before)).toEqual(['routes app-1 app-2 app-3', 'lb-1 lb RELOAD']);
  });

  it.concurrent('takes its dependents along in an apply when all of it stops', async () => {
    const tiers = (body: string): ClusterSpec =>
      closed({
        name: 'tiers',
        nodes: { db: nodes(1, ['db']), web: nodes(2, ['web']) },
        services: {
          db: { peers: 'none', actions: { start: ledger.script({ body }), stop: ledger.script() } },
          web: {
            peers: 'none',
            runtime: { requires: ['db'] },
            actions: { start: ledger.script(), stop: ledger.script() },
          },
        },
      });
    await apply(tiers(':'));
    const before = await count('tiers');
    expect((await apply(tiers('true'))).operation.state).toBe('done');
    const told = await toldSince('tiers', before);
    expect(told.slice(0, 2).toSorted()).toEqual(['web-1 web STOP', 'web-2 web STOP']);
    expect(told.slice(2, 4)).toEqual(['db-1 db STOP', 'db-1 db START']);
    expect(told.slice(4).toSorted()).toEqual(['web-1 web START', 'web-2 web START']);
  });

  it.concurrent('gets a BOOTSTRAP on a node that first gets a service whose automator prepares its users', async () => {
    const one = (services: readonly string[]): ClusterSpec =>
      closed({
        name: 'prepared',
        nodes: { app: nodes(1, services) },
        services: {
          app: { actions: { start: ledger.script() } },
          more: { actions: { start: { type: 'gated', fields: {} } } },
        },
      });
    await apply(one(['app']));
    expect(await ledger.lines('bootstrapped')).toEqual([]);
    expect((await apply(one(['app', 'more']))).operation.state).toBe('done');
    expect(await ledger.lines('bootstrapped')).toEqual(['bootstrapped']);
  });
});
