import { describe, expect, it } from 'vitest';
import { withDependents, withNeeds } from '../../src/model/plan/order/dependencies.js';
import { outlinesOf } from '../../src/model/plan/order/dependencies.js';
import { PlanError } from '../../src/model/plan/plan-error.js';
import type { ServiceSpec } from '../../src/model/cluster/spec.js';
import { TestCluster } from '../harness/model/cluster.js';
import {
  group,
  needing,
  only,
  reading,
  service,
  spec,
  toInstall,
  toRun,
  without,
} from '../harness/model/specs.js';
import { waitsOf } from '../harness/model/words.js';

type Services = Readonly<Record<string, ServiceSpec>>;

/** One group for each service, so that every wait is between nodes. */
function specOf(services: Services): ReturnType<typeof spec> {
  return spec(
    Object.fromEntries(Object.keys(services).map((name) => [`g${name}`, group(1, name)])),
    services,
  );
}

function created(services: Services): Readonly<Record<string, readonly string[]>> {
  const cluster = new TestCluster();
  cluster.begin({ kind: 'apply' });
  return waitsOf(cluster.plan(specOf(services)));
}

function deleted(services: Services): Readonly<Record<string, readonly string[]>> {
  const cluster = new TestCluster();
  cluster.run({ kind: 'apply' }, specOf(services));
  cluster.begin({ kind: 'delete' });
  return waitsOf(cluster.plan());
}

describe('on the way up', () => {
  it.each<[string, Services, Readonly<Record<string, readonly string[]>>]>([
    ['services that need nothing wait for nothing', { a: service(), b: service() }, {}],
    [
      'an install need gates INSTALL alone',
      { a: service(toInstall('b')), b: service() },
      { 'INSTALL a': ['INSTALL:b'] },
    ],
    [
      'a runtime need gates INITIALIZE, and so START after it',
      { a: service(toRun('b')), b: service() },
      { 'INITIALIZE a': ['START:b'] },
    ],
    [
      'a runtime need gates START of a service without INITIALIZE',
      { a: service({ ...toRun('b'), actions: without('initialize') }), b: service() },
      { 'START a': ['START:b'] },
    ],
    [
      'what is used gates like what is required',
      { a: service({ runtime: { requires: [], uses: ['b'] } }), b: service() },
      { 'INITIALIZE a': ['START:b'] },
    ],
    [
      'what is used and is not there gates nothing',
      { a: service({ runtime: { requires: [], uses: ['c'] } }) },
      {},
    ],
    [
      'a need is met by any service that provides it',
      { a: service(toRun('data')), b: service({ provides: ['data'] }) },
      { 'INITIALIZE a': ['START:b'] },
    ],
    [
      'INSTALL passes through a service that has none',
      {
        a: service(toInstall('b')),
        b: service({ ...toInstall('c'), actions: without('install') }),
        c: service(),
      },
      { 'INSTALL a': ['INSTALL:c'] },
    ],
    [
      'START passes through a service that has none',
      { a: service(toRun('b')), b: service({ ...toRun('c'), actions: only('install') }), c: service() },
      { 'INITIALIZE a': ['START:c'] },
    ],
    [
      'a chain of needs waits link by link',
      { a: service(toRun('b')), b: service(toRun('c')), c: service() },
      { 'INITIALIZE a': ['START:b'], 'INITIALIZE b': ['START:c'] },
    ],
    [
      'CONFIGURE has no order among services',
      {
        a: service({ ...needing('b'), actions: only('configure') }),
        b: service({ actions: only('configure') }),
      },
      {},
    ],
    [
      'CONFIGURE waits for the addresses of all nodes',
      { a: service({ ...reading, actions: only('configure') }), b: service() },
      { 'CONFIGURE a': ['CONFIRM:@ga', 'CONFIRM:@gb'] },
    ],
    [
      "CONFIGURE waits for its own and its dependencies' nodes when it reads no others",
      {
        a: service({ ...toRun('b'), peers: 'dependencies', actions: only('configure') }),
        b: service({ actions: {} }),
        c: service(),
      },
      { 'CONFIGURE a': ['CONFIRM:@ga', 'CONFIRM:@gb'] },
    ],
    [
      'CONFIGURE of a service that reads nothing waits for nothing',
      { a: service({ peers: 'none', actions: only('configure') }), b: service() },
      {},
    ],
  ])('%s', (_title, services, waits) => {
    expect(created(services)).toEqual(waits);
  });

  it('allows opposite directions of install and runtime requirements', () => {
    expect(created({ a: service(toInstall('b')), b: service(toRun('a')) })).toEqual({
      'INSTALL a': ['INSTALL:b'],
      'INITIALIZE b': ['START:a'],
    });
  });

  it.each([
    [
      'runtime',
      { a: service(toRun('b')), b: service(toRun('c')), c: service(toRun('a')) },
      /STOP:a -> STOP:c -> STOP:b -> STOP:a|START/,
    ],
    [
      'install',
      { a: service(toInstall('b')), b: service(toInstall('a')) },
      /INSTALL:a -> INSTALL:b -> INSTALL:a/,
    ],
  ])('a circle of %s needs is named', (_kind, services, words) => {
    expect(() => created(services)).toThrow(PlanError);
    expect(() => created(services)).toThrow(words);
  });
});

describe('on the way down', () => {
  it.each<[string, Services, Readonly<Record<string, readonly string[]>>]>([
    [
      'STOP is in the reverse order of runtime needs',
      { a: service(toRun('b')), b: service() },
      { 'STOP b': ['down/STOP:a'] },
    ],
    [
      'REMOVE is in the reverse order of install needs',
      { a: service(toInstall('b')), b: service() },
      { 'REMOVE b': ['down/REMOVE:a'] },
    ],
    [
      'STOP passes through a service that has none',
      { a: service(toRun('b')), b: service({ ...toRun('c'), actions: without('stop') }), c: service() },
      { 'STOP c': ['down/STOP:a'] },
    ],
  ])('%s', (_title, services, waits) => {
    expect(deleted(services)).toEqual(waits);
  });

  it('drains leaving nodes in the order of requirements, after their readers were configured without them', () => {
    const services = {
      db: service(),
      app: service(needing('db')),
      lb: service({ ...reading, ...toRun('app') }),
    };
    const wanted = (count: number): ReturnType<typeof spec> =>
      spec({ db: group(count, 'db'), app: group(count, 'app'), lb: group(1, 'lb') }, services);
    const cluster = new TestCluster();
    cluster.run({ kind: 'apply' }, wanted(2));
    const [play] = cluster.run({ kind: 'apply' }, wanted(1));
    expect(
      play?.done.map(({ step: { action, service: name } }) =>
        name === undefined ? action : `${action} ${name}`,
      ),
    ).toEqual(['CONFIGURE lb', 'STOP app', 'STOP db', 'REMOVE app', 'REMOVE db', 'DELETE', 'DELETE']);
  });
});

describe('requirements and dependents of a service', () => {
  const outlines = outlinesOf({
    db: service(),
    queue: service(),
    app: service({ runtime: { requires: ['db'], uses: ['queue'] } }),
    lb: service(toRun('app')),
    log: service(toInstall('db')),
  });

  it.each([
    ['lb', ['lb'], ['db', 'queue', 'app', 'lb']],
    ['app', ['app', 'lb'], ['db', 'queue', 'app']],
    ['db', ['db', 'app', 'lb'], ['db']],
    ['log', ['log'], ['log']],
  ])('%s', (name, dependents, needs) => {
    expect(withDependents(outlines, [name])).toEqual(dependents);
    expect(withNeeds(outlines, [name])).toEqual(needs);
  });
});
