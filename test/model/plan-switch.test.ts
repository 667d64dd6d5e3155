import { describe, expect, it } from 'vitest';
import type { Intent } from '../../src/model/plan/intent/intent.js';
import { isEmptyPlan } from '../../src/model/plan/plan.js';
import { PlanError } from '../../src/model/plan/plan-error.js';
import { TestCluster } from '../harness/model/cluster.js';
import { changed, group, only, service, spec, toRun } from '../harness/model/specs.js';
import { inWords, tasksOf } from '../harness/model/words.js';

const web = spec(
  { db: group(1, 'db'), app: group(2, 'app', 'tools'), lb: group(1, 'lb') },
  {
    db: service(),
    app: service(toRun('db')),
    lb: service(toRun('app')),
    tools: service({ actions: only('install', 'configure') }),
  },
);

function standing(stopped: readonly string[] = []): TestCluster {
  const cluster = new TestCluster();
  cluster.run({ kind: 'apply' }, web);
  if (stopped.length > 0) {
    cluster.run({ kind: 'stop', services: stopped });
    cluster.state = { ...cluster.state, stopped };
  }
  return cluster;
}

function planned(cluster: TestCluster, intent: Intent): readonly string[] {
  cluster.begin(intent);
  return inWords(cluster.plan());
}

describe('start, stop, restart, reconfigure', () => {
  it.each<[string, readonly string[], Intent, readonly string[]]>([
    [
      'stop takes what needs the service along',
      [],
      { kind: 'stop', services: ['app'] },
      ['update app 1-2: STOP app', 'update lb 1: STOP lb'],
    ],
    ['stop of what does not run does nothing', ['db', 'app', 'lb'], { kind: 'stop', services: ['lb'] }, []],
    [
      'stop of all',
      [],
      { kind: 'stop', services: [] },
      ['update db 1: STOP db', 'update app 1-2: STOP app', 'update lb 1: STOP lb'],
    ],
    [
      'start takes what the service needs along',
      ['db', 'app', 'lb'],
      { kind: 'start', services: ['app'] },
      ['update db 1: START db', 'update app 1-2: START app'],
    ],
    ['start of what runs does nothing', [], { kind: 'start', services: ['lb'] }, []],
    [
      'restart stops and starts what needs the service',
      [],
      { kind: 'restart', services: ['app'] },
      ['update app 1-2: STOP app, START app', 'update lb 1: STOP lb, START lb'],
    ],
    [
      'restart of one node leaves others alone',
      [],
      { kind: 'restart', services: ['app'], nodes: ['app-2'] },
      ['update app 2: STOP app, START app'],
    ],
    [
      'restart leaves down what a user stopped',
      ['lb'],
      { kind: 'restart', services: ['app'] },
      ['update app 1-2: STOP app, START app'],
    ],
    [
      'rolling restart is of the service alone',
      [],
      { kind: 'restart', services: ['app'], width: 1 },
      ['update app 1-2: STOP app, START app'],
    ],
    [
      'reconfigure of all',
      [],
      { kind: 'reconfigure', services: [] },
      [
        'update db 1: CONFIGURE db',
        'update app 1-2: CONFIGURE app, CONFIGURE tools',
        'update lb 1: CONFIGURE lb',
      ],
    ],
    [
      'reconfigure with restart',
      [],
      { kind: 'reconfigure', services: ['app', 'tools'], restart: true },
      [
        'update app 1-2: STOP app, CONFIGURE app, CONFIGURE tools, START app',
        'update lb 1: STOP lb, START lb',
      ],
    ],
    [
      'reconfigure starts nothing that a user stopped',
      ['lb'],
      { kind: 'reconfigure', services: ['lb'], restart: true },
      ['update lb 1: CONFIGURE lb'],
    ],
    [
      'exec on all nodes',
      [],
      { kind: 'exec', command: 'true' },
      ['exec db 1: EXEC', 'exec app 1-2: EXEC', 'exec lb 1: EXEC'],
    ],
    [
      'exec on some',
      [],
      { kind: 'exec', command: 'true', nodes: ['app-1', 'lb-1'] },
      ['exec app 1: EXEC', 'exec lb 1: EXEC'],
    ],
  ])('%s', (_title, stopped, intent, kinds) => {
    const cluster = standing(stopped);
    expect(planned(cluster, intent)).toEqual(kinds);
    expect(cluster.play(cluster.plan()).stuck).toEqual([]);
    expect(isEmptyPlan(cluster.plan())).toBe(true);
  });

  it('restarts dependents first on the way down and last on the way up', () => {
    const cluster = standing();
    expect(tasksOf(cluster.run({ kind: 'restart', services: ['db'] }).flatMap(({ done }) => done))).toEqual([
      'STOP lb lb-1',
      'STOP app app-1',
      'STOP app app-2',
      'STOP db db-1',
      'START db db-1',
      'START app app-1',
      'START app app-2',
      'START lb lb-1',
    ]);
  });

  it('repeats an operation that is requested again', () => {
    const cluster = standing();
    cluster.run({ kind: 'restart', services: ['lb'] });
    expect(planned(cluster, { kind: 'restart', services: ['lb'] })).toEqual([
      'update lb 1: STOP lb, START lb',
    ]);
  });

  it('continues a restart that failed half-way, and repeats a half-done STOP', () => {
    const cluster = standing();
    cluster.begin({ kind: 'restart', services: ['app'] });
    cluster.play(cluster.plan(), (title) => title === 'STOP app-1 app' || title === 'START app-2 app');
    expect(inWords(cluster.plan())).toEqual([
      'update app 1: STOP app, START app',
      'update app 2: START app',
      'update lb 1: START lb',
    ]);
  });

  it.each<[string, Intent, RegExp]>([
    [
      'a service that is not there',
      { kind: 'stop', services: ['cache'] },
      /service cache does not exist; the cluster has db, app, lb, tools/,
    ],
    [
      'a service without the action',
      { kind: 'restart', services: ['tools'] },
      /restart requires the action start, which service tools does not declare; services that do: db, app, lb/,
    ],
    [
      'a node that is not there',
      { kind: 'exec', command: 'true', nodes: ['app-1', 'app-9'] },
      /node app-9 does not exist; the cluster has app-1, app-2, db-1, lb-1/,
    ],
    ['no node at all', { kind: 'exec', command: 'true', nodes: [] }, /exec has an empty list of nodes/],
    [
      'a service that is on none of the nodes',
      { kind: 'restart', services: ['db'], nodes: ['app-1'] },
      /service db is on none of the nodes app-1/,
    ],
    ['a node to replace that is not there', { kind: 'replace', nodes: ['db-3'] }, /node db-3 does not exist/],
    ['a width of nothing', { kind: 'restart', services: ['db'], width: 0 }, /width is 0/],
  ])('%s is refused', (_title, intent, words) => {
    const cluster = standing();
    if (intent.kind !== 'replace') cluster.begin(intent);
    else
      cluster.state = {
        ...cluster.state,
        operation: {
          id: '9',
          uid: 'uid9',
          kind: 'replace',
          intent,
          what: '',
          state: 'running',
          by: '',
          requestedAt: '',
          tasks: { total: 0, done: 0, failed: 0 },
        },
      };
    expect(() => cluster.plan()).toThrow(PlanError);
    expect(() => cluster.plan()).toThrow(words);
  });
});

describe('an apply while services are stopped', () => {
  it('does everything except start them and their dependents', () => {
    const cluster = standing(['db', 'app', 'lb']);
    cluster.begin({ kind: 'apply' });
    expect(isEmptyPlan(cluster.plan(web))).toBe(true);
    const wanted = {
      ...web,
      services: { ...web.services, app: service({ ...toRun('db'), actions: changed('install') }) },
    };
    expect(inWords(cluster.plan(wanted))).toEqual(['update app 1-2: INSTALL app, CONFIGURE app']);
  });

  it('gives new nodes everything but INITIALIZE and START, which follow when the service is started', () => {
    const cluster = standing(['app', 'lb']);
    const wanted = { ...web, nodes: { ...web.nodes, app: group(3, 'app') } };
    cluster.run({ kind: 'apply' }, wanted);
    cluster.state = { ...cluster.state, stopped: [] };
    expect(planned(cluster, { kind: 'start', services: ['app'] })).toEqual([
      'update app 1-2: START app',
      'update app 3: INITIALIZE app, START app',
    ]);
  });

  it('stops running services that must be stopped', () => {
    const cluster = standing();
    cluster.state = { ...cluster.state, stopped: ['app'] };
    expect(tasksOf(cluster.run({ kind: 'apply' }).flatMap(({ done }) => done))).toEqual([
      'STOP lb lb-1',
      'STOP app app-1',
      'STOP app app-2',
    ]);
  });
});
