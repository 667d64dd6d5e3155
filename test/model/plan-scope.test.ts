import { describe, expect, it } from 'vitest';
import { isEmptyPlan } from '../../src/model/plan/plan.js';
import type { IntentOf } from '../../src/model/plan/intent/intent.js';
import type { ClusterSpec } from '../../src/model/cluster/spec.js';
import { TestCluster } from '../harness/model/cluster.js';
import { changed, group, needing, only, service, spec, toRun } from '../harness/model/specs.js';
import { inWords, tasksOf } from '../harness/model/words.js';

const app = service({ ...needing('db'), actions: only('install', 'start', 'stop', 'remove') });
const agent = service({ actions: only('install', 'remove') });
const db = service({ actions: only('install', 'start', 'stop', 'remove') });
const lb = service({
  ...toRun('app'),
  peers: 'dependencies',
  onPeersChange: 'configure',
  actions: only('configure', 'start', 'stop'),
});
const web = spec(
  { db: group(1, 'db'), app: group(2, 'app', 'agent'), lb: group(1, 'lb') },
  { db, app, agent, lb },
);

function withServices(changes: ClusterSpec['services'], groups: ClusterSpec['nodes'] = {}): ClusterSpec {
  return { ...web, nodes: { ...web.nodes, ...groups }, services: { ...web.services, ...changes } };
}

const { install, start } = changed('install', 'next');
const newInstall = { install, start, stop: app.actions.stop, remove: app.actions.remove } as never;
const newApp = withServices({
  app: { ...app, actions: newInstall },
  agent: { ...agent, actions: { ...agent.actions, install } as never },
});
const newDb = withServices({ db: { ...db, actions: newInstall }, app: { ...app, actions: newInstall } });

type Limit = Pick<IntentOf<'apply'>, 'nodes' | 'services'>;

function planned(limit: Limit, wanted: ClusterSpec, before: ClusterSpec | 'none' = web) {
  const cluster = new TestCluster();
  if (before !== 'none') cluster.run({ kind: 'apply' }, before);
  cluster.begin({ kind: 'apply', ...limit });
  return { cluster, plan: cluster.plan(wanted) };
}

const machine = 'CREATE, CONFIRM, BOOTSTRAP';
const restart = 'STOP app, INSTALL app';

describe('an apply that is limited', () => {
  it.each<[string, Limit, ClusterSpec, ClusterSpec | 'none', readonly string[], number]>([
    [
      'to a node does all work there, and none on others',
      { nodes: ['app-1'] },
      newApp,
      web,
      [`update app 1: ${restart}, INSTALL agent, START app`],
      4,
    ],
    [
      'to a service does its work on all nodes, and none of other services',
      { services: ['agent'] },
      newApp,
      web,
      ['update app 1-2: INSTALL agent'],
      6,
    ],
    [
      'to a service and a node does the work of that service there',
      { services: ['app'], nodes: ['app-2'] },
      newApp,
      web,
      [`update app 2: ${restart}, START app`],
      5,
    ],
    [
      'to a service of a new cluster makes what it requires, and no other nodes or services',
      { services: ['app'] },
      web,
      'none',
      [`create db 1: ${machine}, INSTALL db, START db`, `create app 1-2: ${machine}, INSTALL app, START app`],
      7,
    ],
    [
      'to a node of a new cluster makes the nodes of what it requires',
      { nodes: ['app-2'] },
      web,
      'none',
      [
        `create db 1: ${machine}, INSTALL db, START db`,
        `create app 2: ${machine}, INSTALL app, INSTALL agent, START app`,
      ],
      11,
    ],
    [
      'does not change a required service that is up',
      { nodes: ['app-1'] },
      newDb,
      web,
      [`update app 1: ${restart}, START app`],
      6,
    ],
    [
      'to a new node makes it, and configures the services that read its address',
      { nodes: ['app-3'] },
      withServices({}, { app: group(4, 'app', 'agent') }),
      web,
      ['update lb 1: CONFIGURE lb', `create app 3: ${machine}, INSTALL app, INSTALL agent, START app`],
      6,
    ],
    [
      'to a node that the spec does not have any more removes it, and no other',
      { nodes: ['app-2'] },
      withServices({}, { app: group(1, 'app', 'agent'), db: group(0, 'db') }),
      web,
      ['remove app 2: STOP app, REMOVE app, REMOVE agent, DELETE', 'update lb 1: CONFIGURE lb'],
      3,
    ],
    [
      'to a service that the spec does not have any more removes it alone',
      { services: ['agent'] },
      { ...web, nodes: { ...web.nodes, app: group(2), lb: group(1) } },
      web,
      ['update app 1-2: REMOVE agent', 'update lb 1: CONFIGURE lb'],
      5,
    ],
    [
      'to a service leaves the machines of nodes, and removes no node',
      { services: ['agent'] },
      { ...newApp, nodes: { ...newApp.nodes, app: { ...group(1, 'app', 'agent'), hardware: 'large' } } },
      web,
      ['update app 1: INSTALL agent'],
      14,
    ],
  ])('%s', (_title, limit, wanted, before, words, left) => {
    const { plan } = planned(limit, wanted, before);
    expect(inWords(plan).toSorted()).toEqual(words.toSorted());
    expect(plan.left).toBe(left);
  });

  it('counts what it leaves although it does other tasks more than once', () => {
    const agent = service({ peers: 'all', onPeersChange: 'configure' });
    const needs = service({ ...needing('a'), peers: 'all', onPeersChange: 'configure' });
    const cluster = new TestCluster();
    cluster.run({ kind: 'apply' }, spec({ g: group(1, 'a') }, { a: agent }));
    cluster.begin({ kind: 'apply', services: ['e'] });
    const plan = cluster.plan(spec({ g: group(1, 'e'), h: group(1, 'a') }, { a: agent, e: needs }));
    const rest = ['STOP a', 'REMOVE a'].filter((task) => !inWords(plan).join().includes(task));
    expect(plan.left).toBeGreaterThanOrEqual(rest.length);
    expect(rest).toHaveLength(2);
  });

  it.each<[string, Limit, string]>([
    ['node', { nodes: ['app-1', 'app-9'] }, 'node app-9 exists neither in the cluster nor in its file'],
    ['service', { services: ['ap'] }, 'service ap exists neither in the cluster nor in its file'],
    [
      'service on the nodes named',
      { services: ['db'], nodes: ['app-1'] },
      'none of the services db is on the nodes app-1',
    ],
  ])('is refused for an unknown %s', (_title, limit, message) => {
    expect(() => planned(limit, web)).toThrow(message);
  });

  it('stops and starts what needs a service that stops, although that is outside', () => {
    const { cluster, plan } = planned({ services: ['db'] }, newDb);
    expect(tasksOf(cluster.play(plan).done)).toEqual([
      'STOP lb lb-1',
      'STOP app app-1',
      'STOP app app-2',
      'STOP db db-1',
      'INSTALL db db-1',
      'START db db-1',
      'START app app-1',
      'START app app-2',
      'START lb lb-1',
    ]);
    expect(cluster.state.nodes['app-1']?.facts.services['app']?.INSTALL).toContain('"i"');
  });

  it('keeps services and nodes outside of it as they are, until an apply without limits does the rest', () => {
    const wanted = withServices({ extra: agent }, { app: group(1, 'app', 'extra') });
    const { cluster } = planned({ services: ['app'] }, wanted);
    cluster.run({ kind: 'apply', services: ['app'] }, wanted);
    expect(cluster.state.nodes['app-1']?.services.toSorted()).toEqual(['agent', 'app']);
    expect(Object.keys(cluster.state.nodes)).toContain('app-2');
    const rest = cluster.run({ kind: 'apply' }, wanted).flatMap(({ done }) => tasksOf(done));
    expect(rest.toSorted()).toEqual([
      'CONFIGURE lb lb-1',
      'DELETE app-2',
      'INSTALL extra app-1',
      'REMOVE agent app-1',
      'REMOVE agent app-2',
      'REMOVE app app-2',
      'STOP app app-2',
    ]);
    expect(isEmptyPlan(cluster.plan(wanted))).toBe(true);
  });
});
