import { defaultRepair } from '../../src/model/cluster/default-repair.js';
import { describe, expect, it } from 'vitest';
import type { Intent } from '../../src/model/plan/intent/intent.js';
import type { NodeFacts } from '../../src/model/node/state.js';
import { isEmptyPlan } from '../../src/model/plan/plan.js';
import type { RepairSpec } from '../../src/model/cluster/spec.js';
import { TestCluster } from '../harness/model/cluster.js';
import { group, reading, service, spec, toRun } from '../harness/model/specs.js';
import { inWords } from '../harness/model/words.js';

const web = spec(
  { app: group(3, 'app'), lb: group(1, 'lb') },
  { app: service(), lb: service({ ...reading, ...toRun('app') }) },
);
const up = 'CREATE, CONFIRM, BOOTSTRAP, INSTALL app, CONFIGURE app, INITIALIZE app, START app';

function standing(): TestCluster {
  const cluster = new TestCluster();
  cluster.run({ kind: 'apply' }, web);
  return cluster;
}

describe('an apply that finds drift', () => {
  it.each<[string, Partial<NodeFacts>, Partial<RepairSpec>, readonly string[], string?]>([
    [
      'gone: another machine, without a script on the old one',
      { seen: 'gone' },
      {},
      [`replace app 2: DELETE, ${up}`, 'update lb 1: CONFIGURE lb'],
      'its machine is gone',
    ],
    ['gone, and left so', { seen: 'gone' }, { gone: 'nothing' }, []],
    ['switched off, and left so', { seen: 'stopped' }, {}, []],
    [
      'switched off: another machine',
      { seen: 'stopped' },
      { stopped: 'replace' },
      [`replace app 2: DELETE, ${up}`, 'update lb 1: CONFIGURE lb'],
      'its machine is switched off',
    ],
    ['silent, and left so', { seen: 'unreachable' }, {}, []],
    [
      'silent: another machine',
      { seen: 'unreachable' },
      { unreachable: 'replace' },
      [`replace app 2: DELETE, ${up}`, 'update lb 1: CONFIGURE lb'],
      'its machine does not answer',
    ],
    [
      'rebooted: looked at, and started',
      { seen: 'rebooted' },
      {},
      ['update app 2: CONFIRM, START app'],
      'its machine was rebooted',
    ],
    ['rebooted, and left so', { seen: 'rebooted' }, { rebooted: 'nothing' }, []],
    [
      'moved: looked at, and its readers told',
      { seen: 'moved' },
      {},
      ['update app 2: CONFIRM', 'update lb 1: CONFIGURE lb'],
      'its machine has another address',
    ],
    ['moved, and left so', { seen: 'moved' }, { moved: 'nothing' }, []],
    [
      'toReplace: drained as far as it goes, and replaced',
      { toReplace: true },
      {},
      [`replace app 2: STOP app, REMOVE app, DELETE, ${up}`, 'update lb 1: CONFIGURE lb'],
      'its replacement was requested',
    ],
    [
      'toReplace and gone',
      { toReplace: true, seen: 'gone' },
      { gone: 'nothing' },
      [`replace app 2: DELETE, ${up}`, 'update lb 1: CONFIGURE lb'],
      'its replacement was requested',
    ],
  ])('%s', (_title, facts, repair, kinds, reason) => {
    const cluster = standing();
    cluster.facts('app-2', facts);
    const wanted = { ...web, repair: { ...defaultRepair, ...repair } };
    cluster.begin({ kind: 'apply' });
    const plan = cluster.plan(wanted);
    expect(inWords(plan)).toEqual(kinds);
    expect(plan.kinds[0]?.chain[0]?.reason).toBe(reason);
    expect(cluster.play(plan).stuck).toEqual([]);
    expect(isEmptyPlan(cluster.plan(wanted))).toBe(true);
  });

  it('configures readers of addresses after the new machine is confirmed', () => {
    const cluster = standing();
    cluster.facts('app-2', { seen: 'gone' });
    cluster.begin({ kind: 'apply' });
    expect(cluster.plan(web).kinds.find((kind) => kind.group === 'lb')?.chain[0]?.after).toEqual([
      'CONFIRM:@app',
    ]);
  });

  it('tolerates a failing script on a machine that is replaced, but no failing DELETE', () => {
    const cluster = standing();
    cluster.begin({ kind: 'replace', nodes: ['app-2'] });
    expect(
      cluster
        .plan()
        .kinds[0]?.chain.slice(0, 3)
        .map(({ mayFail }) => mayFail),
    ).toEqual([true, true, undefined]);
  });

  it('runs no scripts on a leaving node whose machine is gone', () => {
    const cluster = standing();
    cluster.facts('app-3', { seen: 'gone' });
    cluster.begin({ kind: 'apply' });
    expect(inWords(cluster.plan({ ...web, nodes: { ...web.nodes, app: group(2, 'app') } }))).toEqual([
      'remove app 3: DELETE',
      'update lb 1: CONFIGURE lb',
    ]);
  });
});

describe('replace', () => {
  it('touches only the named nodes and the readers of their addresses', () => {
    const cluster = standing();
    cluster.facts('app-1', { seen: 'gone' });
    cluster.begin({ kind: 'replace', nodes: ['app-2'] });
    expect(inWords(cluster.plan())).toEqual([
      `replace app 2: STOP app, REMOVE app, DELETE, ${up}`,
      'update lb 1: CONFIGURE lb',
    ]);
  });

  it('continues with a node whose old machine is gone already', () => {
    const cluster = standing();
    cluster.begin({ kind: 'replace', nodes: ['app-2'] });
    cluster.play(cluster.plan(), (title) => title === 'INSTALL app-2 app');
    expect(inWords(cluster.plan())).toEqual([
      'update app 2: INSTALL app, CONFIGURE app, INITIALIZE app, START app',
    ]);
  });

  it('refuses a node that is leaving', () => {
    const cluster = standing();
    cluster.begin({ kind: 'replace', nodes: ['app-3'] });
    expect(() => cluster.plan({ ...web, nodes: { ...web.nodes, app: group(2, 'app') } })).toThrow(
      /app-3 is no longer in the cluster's spec/,
    );
  });
});

describe('start, stop, restart and reconfigure of a node whose machine was rebooted', () => {
  const quiet = { ...web, repair: { ...defaultRepair, rebooted: 'nothing' as const } };

  it.each<[string, Intent, readonly string[]]>([
    [
      'restart confirms the machine, which ends the drift',
      { kind: 'restart', services: ['app'], nodes: ['app-2'] },
      ['update app 2: CONFIRM, STOP app, START app'],
    ],
    [
      'start confirms the machine and starts what ran before',
      { kind: 'start', services: ['app'] },
      ['update app 2: CONFIRM, START app'],
    ],
    [
      'reconfigure with a restart confirms the machine',
      { kind: 'reconfigure', services: ['app'], restart: true, nodes: ['app-2'] },
      ['update app 2: CONFIRM, STOP app, CONFIGURE app, START app'],
    ],
  ])('%s', (_title, intent, kinds) => {
    const cluster = new TestCluster();
    cluster.run({ kind: 'apply' }, quiet);
    cluster.facts('app-2', { seen: 'rebooted' });
    cluster.begin(intent);
    const plan = cluster.plan();
    expect(inWords(plan)).toEqual(kinds);
    expect(plan.kinds[0]?.chain[0]?.reason).toBe('its machine was rebooted');
    expect(cluster.play(plan).stuck).toEqual([]);
    expect(cluster.state.nodes['app-2']?.facts.seen).toBeUndefined();
    expect(isEmptyPlan(cluster.plan())).toBe(true);
  });

  it.each<[string, Intent, readonly string[]]>([
    ['stop', { kind: 'stop', services: ['app'] }, ['update app 1-3: STOP app', 'update lb 1: STOP lb']],
    [
      'reconfigure',
      { kind: 'reconfigure', services: ['app'], nodes: ['app-2'] },
      ['update app 2: CONFIGURE app'],
    ],
  ])('%s starts nothing, and leaves the drift', (_kind, intent, kinds) => {
    const cluster = new TestCluster();
    cluster.run({ kind: 'apply' }, quiet);
    cluster.facts('app-2', { seen: 'rebooted' });
    cluster.begin(intent);
    const plan = cluster.plan();
    expect(inWords(plan)).toEqual(kinds);
    cluster.play(plan);
    expect(cluster.state.nodes['app-2']?.facts.seen).toBe('rebooted');
  });
});
