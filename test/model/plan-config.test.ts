import { describe, expect, it } from 'vitest';
import { isEmptyPlan } from '../../src/model/plan/plan.js';
import type { ClusterSpec, ServiceSpec } from '../../src/model/cluster/spec.js';
import { TestCluster } from '../harness/model/cluster.js';
import { group, reloading, service, spec, without } from '../harness/model/specs.js';
import { inWords } from '../harness/model/words.js';

function withConfig(changes: Partial<ServiceSpec>, config: ClusterSpec['config']): ClusterSpec {
  return spec({ app: group(1, 'app') }, { app: service(changes) }, { config });
}

/** What an apply does when `greeting` changes. */
function afterChange(changes: Partial<ServiceSpec>): readonly string[] {
  const cluster = new TestCluster();
  cluster.run({ kind: 'apply' }, withConfig(changes, { greeting: 'hello', colour: 'red' }));
  const wanted = withConfig(changes, { greeting: 'goodbye', colour: 'red' });
  cluster.begin({ kind: 'apply' });
  const plan = cluster.plan(wanted);
  expect(cluster.play(plan).stuck).toEqual([]);
  expect(isEmptyPlan(cluster.plan(wanted))).toBe(true);
  return inWords(plan);
}

describe('a change of the configuration', () => {
  it.each<[string, Partial<ServiceSpec>, readonly string[]]>([
    ['configures a service', {}, ['update app 1: CONFIGURE app']],
    ['reloads one with such an action', { actions: reloading }, ['update app 1: CONFIGURE app, RELOAD app']],
    [
      'only configures one that says so',
      { actions: reloading, onConfigChange: 'configure' },
      ['update app 1: CONFIGURE app'],
    ],
    [
      'restarts one that says so',
      { actions: reloading, onConfigChange: 'restart' },
      ['update app 1: STOP app, CONFIGURE app, START app'],
    ],
    [
      'restarts one without a configure action that says so',
      { actions: without('configure'), onConfigChange: 'restart' },
      ['update app 1: STOP app, START app'],
    ],
    ['leaves one alone that says so', { onConfigChange: 'nothing' }, []],
    ['leaves one alone that reads other keys', { uses: { config: ['colour'] } }, []],
    ['reaches one that reads the key', { uses: { config: ['greeting'] } }, ['update app 1: CONFIGURE app']],
  ])('%s', (_title, changes, kinds) => {
    expect(afterChange(changes)).toEqual(kinds);
  });

  it.each([
    ['none', 'all'],
    ['none', 'dependencies'],
    ['dependencies', 'all'],
  ] as const)('configures a service that reads other nodes, %s before and now %s, at once', (before, now) => {
    const cluster = new TestCluster();
    cluster.run({ kind: 'apply' }, withConfig({ peers: before }, {}));
    const wanted = withConfig({ peers: now }, {});
    cluster.begin({ kind: 'apply' });
    cluster.play(cluster.plan(wanted), (title) => title.startsWith('CONFIGURE'));
    const plan = cluster.plan(wanted);
    expect(inWords(plan)).toEqual(['update app 1: CONFIGURE app']);
    cluster.play(plan);
    expect(isEmptyPlan(cluster.plan(wanted))).toBe(true);
  });

  it('reloads a service whose CONFIGURE was done and whose RELOAD failed', () => {
    const before = withConfig({ actions: reloading }, { greeting: 'hello' });
    const after = withConfig({ actions: reloading }, { greeting: 'goodbye' });
    const cluster = new TestCluster();
    cluster.run({ kind: 'apply' }, before);
    cluster.begin({ kind: 'apply' });
    cluster.play(cluster.plan(after), (title) => title.startsWith('RELOAD'));
    expect(inWords(cluster.plan(after))).toEqual(['update app 1: RELOAD app']);
    cluster.play(cluster.plan(after));
    expect(isEmptyPlan(cluster.plan(after))).toBe(true);
  });
});
