import { describe, expect, it } from 'vitest';
import type { Intent } from '../../src/model/plan/intent/intent.js';
import { isEmptyPlan } from '../../src/model/plan/plan.js';
import type { ClusterSpec } from '../../src/model/cluster/spec.js';
import { TestCluster } from '../harness/model/cluster.js';
import { changed, group, service, spec, toRun } from '../harness/model/specs.js';
import { inWords, tasksOf } from '../harness/model/words.js';

const web = spec(
  { db: group(2, 'db'), app: group(1, 'app'), lb: group(1, 'lb') },
  { db: service(), app: service(toRun('db')), lb: service(toRun('app')) },
);
const newDb: ClusterSpec = {
  ...web,
  services: { ...web.services, db: service({ actions: changed('start') }) },
};
const order = [
  'STOP lb lb-1',
  'STOP app app-1',
  'STOP db db-1',
  'START db db-1',
  'STOP db db-2',
  'START db db-2',
  'START app app-1',
  'START lb lb-1',
];

function standing(wanted = web): TestCluster {
  const cluster = new TestCluster();
  cluster.run({ kind: 'apply' }, wanted);
  return cluster;
}

const stopsAndStarts = (cluster: TestCluster, intent: Intent, wanted?: ClusterSpec): readonly string[] =>
  tasksOf(
    cluster
      .run(intent, wanted)
      .flatMap(({ done }) => done)
      .filter(({ step }) => step.action === 'STOP' || step.action === 'START'),
  );

describe('services that need a service that stops', () => {
  it.each<[string, Intent, ClusterSpec]>([
    ['apply', { kind: 'apply' }, newDb],
    ['restart', { kind: 'restart', services: ['db'] }, web],
    ['restart of all its nodes by name', { kind: 'restart', services: ['db'], nodes: ['db-1', 'db-2'] }, web],
    ['replace of all its nodes', { kind: 'replace', nodes: ['db-1', 'db-2'] }, web],
    ['reconfigure with restart', { kind: 'reconfigure', services: ['db'], restart: true }, web],
  ])('stop before it and start after it in %s', (_title, intent, wanted) => {
    const cluster = standing();
    expect(stopsAndStarts(cluster, intent, wanted)).toEqual(order);
    expect(isEmptyPlan(cluster.plan(wanted))).toBe(true);
  });

  it.each<[string, Intent, ClusterSpec]>([
    ['apply', { kind: 'apply' }, newDb],
    ['restart', { kind: 'restart', services: ['db'] }, web],
    ['replace', { kind: 'replace', nodes: ['db-1', 'db-2'] }, web],
    ['reconfigure with restart', { kind: 'reconfigure', services: ['db'], restart: true }, web],
  ])('are started by a %s that continues after any failure', (_title, intent, wanted) => {
    const reference = standing();
    reference.begin(intent);
    const steps = reference.plan(wanted).kinds.flatMap(({ chain }) => chain);
    for (const { action, service: of } of steps) {
      const cluster = standing();
      cluster.begin(intent);
      const broken = (title: string): boolean =>
        title.startsWith(action) && (of === undefined || title.endsWith(` ${of}`));
      cluster.play(cluster.plan(wanted), broken);
      for (let round = 0; !isEmptyPlan(cluster.plan(wanted)); round += 1) {
        expect(round, `after ${action} ${of ?? ''}`).toBeLessThan(5);
        expect(cluster.play(cluster.plan(wanted)).stuck).toEqual([]);
      }
      const running = Object.values(cluster.state.nodes).map(({ facts }) =>
        Object.values(facts.services).every(({ START }) => START !== undefined),
      );
      expect(running, `after ${action} ${of ?? ''}`).toEqual([true, true, true, true]);
    }
  });

  it('run on, and the plan says why, while the service stays up on another node', () => {
    const cluster = standing();
    cluster.begin({ kind: 'restart', services: ['db'], nodes: ['db-1'] });
    const plan = cluster.plan();
    expect(inWords(plan)).toEqual(['update db 1: STOP db, START db']);
    expect(plan.notes).toEqual([
      'not restarted with db, although they require it: app, lb; db stays up on other nodes',
    ]);
  });

  it('run on, and the plan says why, while the service goes down batch by batch', () => {
    const cluster = standing();
    cluster.begin({ kind: 'apply', width: 1 });
    const plan = cluster.plan(newDb);
    expect(inWords(plan)).toEqual(['update db 1-2: STOP db, START db']);
    expect(plan.notes).toEqual([
      'not restarted with db, although they require it: app, lb; db goes down on 1 node at a time',
    ]);
  });

  it('stay down when a user stopped them', () => {
    const cluster = standing();
    cluster.run({ kind: 'stop', services: ['app'] });
    cluster.state = { ...cluster.state, stopped: ['app'] };
    expect(stopsAndStarts(cluster, { kind: 'apply' }, newDb)).toEqual([
      'STOP db db-1',
      'START db db-1',
      'STOP db db-2',
      'START db db-2',
    ]);
  });
});
