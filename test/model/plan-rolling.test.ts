import { describe, expect, it } from 'vitest';
import { TestCluster } from '../harness/model/cluster.js';
import { changed, group, only, reading, service, spec, toInstall, toRun } from '../harness/model/specs.js';
import { inWords, tasksOf, waitsOf } from '../harness/model/words.js';

const web = spec(
  { db: group(2, 'db'), app: group(3, 'app'), lb: group(1, 'lb') },
  { db: service(), app: service(toRun('db')), lb: service({ ...reading, ...toRun('app') }) },
);

function standing(pick?: (choices: number) => number): TestCluster {
  const cluster = new TestCluster(pick);
  cluster.run({ kind: 'apply' }, web);
  return cluster;
}

describe('a rolling operation', () => {
  it('finishes a node before it starts the next', () => {
    const cluster = standing();
    expect(
      tasksOf(cluster.run({ kind: 'restart', services: ['app'], width: 1 }).flatMap(({ done }) => done)),
    ).toEqual([
      'STOP app app-1',
      'START app app-1',
      'STOP app app-2',
      'START app app-2',
      'STOP app app-3',
      'START app app-3',
    ]);
  });

  it('finishes a service before it touches its dependents', () => {
    const cluster = standing();
    const wanted = {
      ...web,
      services: {
        ...web.services,
        db: service({ actions: changed('install') }),
        app: service({ ...toRun('db'), actions: changed('start') }),
      },
    };
    expect(
      tasksOf(
        cluster
          .run({ kind: 'apply', width: 2 }, wanted)
          .flatMap(({ done }) => done)
          .filter(({ step }) => step.action === 'STOP' || step.action === 'START'),
      ),
    ).toEqual([
      'STOP db db-1',
      'START db db-1',
      'STOP db db-2',
      'START db db-2',
      'STOP app app-1',
      'START app app-1',
      'STOP app app-2',
      'START app app-2',
      'STOP app app-3',
      'START app app-3',
    ]);
  });

  it('waits for gates before it takes a batch slot, never while it holds one', () => {
    const cluster = standing();
    const wanted = {
      ...web,
      services: {
        ...web.services,
        db: service({ actions: changed('start') }),
        app: service({ ...toRun('db'), actions: changed('install') }),
      },
    };
    cluster.begin({ kind: 'apply', width: 1 });
    expect(waitsOf(cluster.plan(wanted))).toEqual({ 'STOP app': ['START:db'] });
  });

  it('stops at a failed node, which keeps its batch slot until a user decides', () => {
    const cluster = standing();
    cluster.begin({ kind: 'restart', services: ['app'], width: 1 });
    const { done, failed, stuck } = cluster.play(cluster.plan(), (title) => title === 'START app-2 app');
    expect(tasksOf(done)).toEqual(['STOP app app-1', 'START app app-1', 'STOP app app-2']);
    expect({ failed, stuck }).toEqual({ failed: ['START app-2 app'], stuck: ['app-3'] });
  });

  it('continues with the node that is down, and the others wait for it', () => {
    const cluster = standing((choices) => choices - 1);
    cluster.begin({ kind: 'restart', services: ['app'], width: 1 });
    cluster.play(cluster.plan(), (title) => title.startsWith('START'));
    const plan = cluster.plan();
    expect(inWords(plan)).toEqual(['update app 1-2: STOP app, START app', 'update app 3: START app']);
    expect(plan.kinds.map(({ chain }) => chain[0]?.after)).toEqual([['first/START:app'], undefined]);
    expect(plan.kinds.map(({ chain }) => chain[0]?.batchSlot)).toEqual(['app', undefined]);
  });

  it('takes no batch slot for new nodes, which come before changes of running nodes', () => {
    const cluster = standing();
    cluster.begin({ kind: 'apply', width: 1 });
    const wanted = {
      ...web,
      nodes: { ...web.nodes, app: group(4, 'app') },
      services: { ...web.services, app: service({ ...toRun('db'), actions: changed('start') }) },
    };
    const plan = cluster.plan(wanted);
    expect(
      plan.kinds
        .find(({ purpose }) => purpose === 'create')
        ?.chain.some(({ batchSlot }) => batchSlot !== undefined),
    ).toBe(false);
    expect(
      tasksOf(cluster.play(plan).done).filter((task) => task.startsWith('ST') && task.includes(' app ')),
    ).toEqual([
      'START app app-4',
      'STOP app app-1',
      'START app app-1',
      'STOP app app-2',
      'START app app-2',
      'STOP app app-3',
      'START app app-3',
    ]);
  });

  it('replaces a limited number of machines, updates the readers, and leaves the others for the next plan', () => {
    const cluster = standing();
    cluster.begin({ kind: 'replace', nodes: ['app-1', 'app-2', 'app-3'], width: 2 });
    const plan = cluster.plan();
    expect(inWords(plan).map((kind) => kind.split(':')[0])).toEqual(['replace app 1-2', 'update lb 1']);
    expect(inWords({ kinds: plan.later ?? [] }).map((kind) => kind.split(':')[0])).toEqual(['replace app 3']);
    cluster.play(plan);
    const next = cluster.plan();
    expect(inWords(next).map((kind) => kind.split(':')[0])).toEqual(['replace app 3', 'update lb 1']);
    expect(next.later).toBeUndefined();
  });

  it('replaces working machines last, and all lost ones at once', () => {
    const cluster = standing();
    cluster.facts('app-1', { seen: 'gone' });
    cluster.facts('app-2', { seen: 'gone' });
    cluster.facts('app-3', { toReplace: true });
    cluster.begin({ kind: 'apply', width: 1 });
    const plan = cluster.plan();
    expect(inWords(plan).map((kind) => kind.split(':')[0])).toEqual(['replace app 1-2', 'update lb 1']);
    expect(inWords({ kinds: plan.later ?? [] }).map((kind) => kind.split(':')[0])).toEqual(['replace app 3']);
  });

  it('limits exec to the width', () => {
    const cluster = standing();
    cluster.begin({ kind: 'exec', command: 'true', width: 2 });
    expect(cluster.plan()).toMatchObject({
      width: 2,
      kinds: [{ chain: [{ action: 'EXEC', batchSlot: '@exec' }] }, {}, {}],
    });
  });

  it('names the cycle of a service that must be installed before another and run after it', () => {
    const services = {
      a: service(toInstall('b')),
      b: service({ ...toRun('a'), actions: only('install', 'start') }),
    };
    const cluster = new TestCluster();
    cluster.begin({ kind: 'apply', width: 1 });
    expect(() => cluster.plan(spec({ g: group(1, 'a', 'b') }, services))).toThrow(
      'services have circular dependencies (a needs b to be installed, b needs a to run), so a rolling operation is not possible; omit the width',
    );
  });
});
