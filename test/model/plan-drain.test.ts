import { describe, expect, it } from 'vitest';
import type { Intent } from '../../src/model/plan/intent/intent.js';
import { allTasks } from '../../src/cli/cluster/plan/plan-text.js';
import { isEmptyPlan, type Plan } from '../../src/model/plan/plan.js';
import type { ClusterSpec, ServiceSpec } from '../../src/model/cluster/spec.js';
import { TestCluster, type Done } from '../harness/model/cluster.js';
import { group, reading, reloading, service, spec, toRun } from '../harness/model/specs.js';
import { inWords } from '../harness/model/words.js';

const rolling = { batch: 2, settle: 3, drain: ['lb'], maxFailures: 0 };
const app = (changes: Partial<ServiceSpec> = {}): ServiceSpec => service({ rolling, ...changes });
const lb = service({ ...toRun('app'), ...reading, actions: reloading });

const web = spec({ app: group(3, 'app'), lb: group(1, 'lb') }, { app: app(), lb });

function standing(wanted: ClusterSpec = web): TestCluster {
  const cluster = new TestCluster();
  cluster.run({ kind: 'apply' }, wanted);
  return cluster;
}

const inOrder = (done: readonly Done[]): readonly string[] =>
  done.map(({ nodeId, step: { action, without } }) =>
    [action, nodeId, ...(without === undefined ? [] : [`without ${without.join(', ') || 'none'}`])].join(' '),
  );

const restart: Intent = { kind: 'restart', services: ['app'] };

describe('a service that others route traffic to', () => {
  it('is restarted batch by batch, each drained before it stops and back before the next', () => {
    const cluster = standing();
    const [first, second] = cluster.run(restart).map(({ done }) => inOrder(done));
    expect(first).toEqual([
      'CONFIGURE lb-1 without app-1, app-2',
      'RELOAD lb-1 without app-1, app-2',
      'STOP app-1',
      'START app-1',
      'STOP app-2',
      'START app-2',
      'CONFIGURE lb-1 without none',
      'RELOAD lb-1 without none',
    ]);
    expect(second).toEqual([
      'CONFIGURE lb-1 without app-3',
      'RELOAD lb-1 without app-3',
      'STOP app-3',
      'START app-3',
      'CONFIGURE lb-1 without none',
      'RELOAD lb-1 without none',
    ]);
    expect(isEmptyPlan(cluster.plan())).toBe(true);
  });

  it.each<[what: string, wanted: ClusterSpec, intent: Intent]>([
    ['one router', web, restart],
    ['routers on nodes of the service', spec({ app: group(5, 'app', 'lb') }, { app: app(), lb }), restart],
    ['another order of services', web, { kind: 'restart', services: [] }],
    ['services that do not roll', spec({ app: group(2, 'app') }, { app: service() }), restart],
  ])('counts in its first plan what all its plans do: %s', (_, wanted, intent) => {
    const cluster = standing(wanted);
    cluster.begin(intent);
    const counted = allTasks(cluster.plan());
    const plays = standing(wanted).run(intent);
    expect(plays.reduce((sum, { done }) => sum + done.length, 0)).toBe(counted);
  });

  it('waits after a batch is drained, and after it is back', () => {
    const cluster = standing();
    cluster.begin(restart);
    const router = cluster.plan().kinds.find(({ group: of }) => of === 'lb');
    expect(router?.chain.map(({ action, settleMs }) => [action, settleMs])).toEqual([
      ['CONFIGURE', undefined],
      ['RELOAD', 3_000],
      ['CONFIGURE', undefined],
      ['RELOAD', 3_000],
    ]);
  });

  it('is drained on its own node too', () => {
    const cluster = standing(
      spec({ app: group(2, 'app', 'lb') }, { app: app({ rolling: { ...rolling, batch: 1 } }), lb }),
    );
    cluster.begin(restart);
    expect(inWords(cluster.plan())).toEqual([
      'update app 1: CONFIGURE lb, RELOAD lb, STOP app, START app, CONFIGURE lb, RELOAD lb',
      'update app 2: CONFIGURE lb, RELOAD lb, CONFIGURE lb, RELOAD lb',
    ]);
    expect(cluster.play(cluster.plan()).stuck).toEqual([]);
  });

  it('stays drained where it failed, and gets back its traffic after the retry', () => {
    const cluster = standing();
    cluster.begin(restart);
    cluster.play(cluster.plan(), (title) => title === 'START app-1 app');
    expect(cluster.state.nodes['lb-1']?.facts.services['lb']?.without).toEqual(['app-1', 'app-2']);
    const rest: string[] = [];
    for (let plan: Plan = cluster.plan(); !isEmptyPlan(plan); plan = cluster.plan())
      rest.push(...inOrder(cluster.play(plan).done));
    expect(rest.slice(0, 2)).toEqual(['START app-1', 'CONFIGURE lb-1 without app-3']);
    expect(rest.at(-1)).toBe('RELOAD lb-1 without none');
    expect(cluster.state.nodes['lb-1']?.facts.services['lb']?.without).toBeUndefined();
  });

  it('gets back its traffic by the next apply when the operation was cancelled', () => {
    const cluster = standing();
    cluster.begin(restart);
    cluster.play(cluster.plan(), (title) => title === 'STOP app-1 app');
    cluster.begin({ kind: 'apply' });
    expect(inWords(cluster.plan()).at(-1)).toBe('update lb 1: CONFIGURE lb, RELOAD lb');
  });

  it('is drained by as many nodes as the request says', () => {
    const cluster = standing();
    expect(cluster.run({ ...restart, width: 1 })).toHaveLength(3);
    expect(cluster.run({ ...restart, width: 3 })).toHaveLength(1);
  });

  it('is installed after what it needs, and before what needs it, in an apply that changes all', () => {
    const before = spec(
      { db: group(1, 'db'), app: group(2, 'app'), lb: group(1, 'lb') },
      { db: service(), app: app({ ...toRun('db'), rolling: { ...rolling, batch: 1 } }), lb },
    );
    const start = { type: 'shell', fields: { script: 'another' } };
    const after: ClusterSpec = {
      ...before,
      services: Object.fromEntries(
        Object.entries(before.services).map(([name, one]) => [
          name,
          { ...one, actions: { ...one.actions, start } },
        ]),
      ),
    };
    const plays = standing(before).run({ kind: 'apply' }, after);
    expect(plays.map(({ done }) => inOrder(done).filter((title) => !title.startsWith('RELOAD')))).toEqual([
      ['STOP db-1', 'START db-1'],
      ['CONFIGURE lb-1 without app-1', 'STOP app-1', 'START app-1', 'CONFIGURE lb-1 without none'],
      ['CONFIGURE lb-1 without app-2', 'STOP app-2', 'START app-2', 'CONFIGURE lb-1 without none'],
      ['STOP lb-1', 'START lb-1'],
    ]);
  });

  it('goes on without nodes that failed where the operation left them out', () => {
    const cluster = standing();
    cluster.begin(restart);
    cluster.play(cluster.plan(), (title) => title === 'START app-1 app');
    const failure = { action: 'START', kind: 'ScriptFailed', message: '', at: '', taskId: '' } as const;
    const node = cluster.state.nodes['app-1'];
    if (node === undefined) throw new Error('app-1 is gone');
    cluster.state = {
      ...cluster.state,
      nodes: { ...cluster.state.nodes, 'app-1': { ...node, excluded: true, failure } as never },
    };
    expect(inWords(cluster.plan())).toEqual([
      'update app 3: STOP app, START app',
      'update lb 1: CONFIGURE lb, RELOAD lb, CONFIGURE lb, RELOAD lb',
    ]);
  });
});

describe('rolling in the cluster file', () => {
  it('is the way of an apply and a restart that say nothing else', () => {
    const plain = spec(
      { app: group(3, 'app') },
      { app: service({ rolling: { batch: 2, drain: [], maxFailures: 0 } }) },
    );
    const cluster = standing(plain);
    cluster.begin(restart);
    for (const intent of [restart, { kind: 'apply' }] as const) {
      cluster.begin(intent);
      expect(cluster.plan().width).toBe(2);
    }
    cluster.begin(restart);
    expect(cluster.plan().kinds[0]?.chain.map(({ batchSlot }) => batchSlot)).toEqual(['app', 'app']);
  });

  it('leaves services without it together', () => {
    const both = spec(
      { app: group(3, 'app', 'agent') },
      { app: service({ rolling: { batch: 1, drain: [], maxFailures: 0 } }), agent: service() },
    );
    const cluster = standing(both);
    cluster.begin({ kind: 'restart', services: ['app', 'agent'] });
    const [kind] = cluster.plan().kinds;
    expect(kind?.chain.map(({ action, service: of, batchSlot }) => [action, of, batchSlot])).toEqual([
      ['STOP', 'agent', undefined],
      ['STOP', 'app', 'app'],
      ['START', 'app', 'app'],
      ['START', 'agent', undefined],
    ]);
  });
});
