import { describe, expect, it } from 'vitest';
import { nextSteps } from '../../src/cli/cluster/next-steps.js';
import { describeState, driftLines, withHealth } from '../../src/cli/cluster/node-text.js';
import { nodeStatus } from '../../src/model/cluster/report.js';
import type { ClusterStatus, NodeStatus } from '../../src/schema/output/status.js';
import type { Drift } from '../../src/model/node/drift.js';
import type { NodeState } from '../../src/model/node/state.js';

const now = Date.parse('2026-01-01T00:00:00Z');
const ago = (seconds: number): string => new Date(now - seconds * 1_000).toISOString();

describe('the health of a service', () => {
  it.each([
    [12, undefined, 'web (healthy, 12 s ago)'],
    [299, undefined, 'web (healthy, 4 m 59 s ago)'],
    [301, undefined, 'web (not checked for 5 m 01 s)'],
    [3_600, 7_200, 'web (healthy, 1 h 00 m ago)'],
    [100, 60, 'web (not checked for 1 m 40 s)'],
  ])('%i s after its check, with probes every %s s, reads "%s"', (age, every, text) => {
    expect(withHealth('web', { well: true, at: ago(age) }, now, every)).toBe(text);
  });

  it('is shown as unhealthy with its age, and not at all without a check', () => {
    expect(withHealth('web', { well: false, at: ago(5) }, now)).toBe('web (unhealthy, 5.0 s ago)');
    expect(withHealth('web', undefined, now)).toBe('web');
  });

  it('leads to a probe when it is older than the interval of probes', () => {
    const status = (age: number): ClusterStatus =>
      ({
        name: 'web',
        queued: [],
        history: [],
        checks: { asked: 0, done: 0, every: 60 },
        nodes: [{ nodeId: 'app-1', health: { web: { well: true, at: ago(age) } } }],
      }) as unknown as ClusterStatus;
    expect(nextSteps(status(10), now)).toEqual([]);
    expect(nextSteps(status(100), now)).toMatchObject([{ command: 'heddle status web --probe' }]);
  });
});

describe('the state of a node', () => {
  it('is incomplete until its services were installed and configured', () => {
    const services = { app: { actions: { install: {}, configure: {}, start: {} } } } as never;
    const stateWith = (app: object | undefined): string =>
      nodeStatus(
        {
          services: ['app'],
          payload: {},
          facts: { CONFIRM: true, services: app === undefined ? {} : { app } },
        } as unknown as NodeState,
        { paused: false, services },
      ).state;
    expect([undefined, { INSTALL: 'i' }, { INSTALL: 'i', CONFIGURE: 'c' }].map(stateWith)).toEqual([
      'incomplete',
      'incomplete',
      'ready',
    ]);
  });

  const state = (seen?: Drift): string => {
    const facts = { CONFIRM: true, services: {}, ...(seen === undefined ? {} : { seen }) };
    return nodeStatus({ services: [], payload: {}, facts } as unknown as NodeState, {
      paused: false,
      services: {},
    }).state;
  };
  it('is ready only if the last probe found its machine as it should be', () => {
    expect(state()).toBe('ready');
    for (const seen of ['rebooted', 'stopped', 'gone', 'moved', 'unreachable'] as const)
      expect(state(seen)).toBe('drifted');
  });

  it.each([
    [12, undefined, 'ready (12 s ago)'],
    [301, undefined, 'ready (not checked for 5 m 01 s)'],
    [3_600, 7_200, 'ready (1 h 00 m ago)'],
    [100, 60, 'ready (not checked for 1 m 40 s)'],
  ])('%i s after its machine was checked, with probes every %s s, reads "%s"', (age, every, text) => {
    expect(describeState({ state: 'ready', checkedAt: ago(age) }, now, every)).toBe(text);
    expect(describeState({ state: 'working', checkedAt: ago(age) }, now, every)).toBe('working');
  });

  it('leads to a probe when its check is older than the interval of probes', () => {
    const status = (age: number): ClusterStatus =>
      ({
        name: 'web',
        queued: [],
        history: [],
        checks: { asked: 0, done: 0 },
        nodes: [{ nodeId: 'app-1', state: 'ready', checkedAt: ago(age) }],
      }) as unknown as ClusterStatus;
    expect(nextSteps(status(10), now)).toEqual([]);
    expect(nextSteps(status(400), now)).toMatchObject([{ command: 'heddle status web --probe' }]);
  });

  it('is explained with the age of the probe that found it', () => {
    const node = (more: object): readonly NodeStatus[] =>
      [{ nodeId: 'app-1', drift: { seen: 'stopped', why: 'it is off', ...more } }] as unknown as NodeStatus[];
    expect(driftLines(node({ at: ago(90) }), now)).toEqual([
      'drift: app-1: it is off (checked 1 m 30 s ago)',
    ]);
  });
});
