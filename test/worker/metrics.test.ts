import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { ApplicationFailure } from '@temporalio/common';
import type { Client } from '@temporalio/client';
import { describe, expect, it, test } from 'vitest';
import { causeOfHeld, causeOfStuck, createCountHeld } from '../../src/client/cluster-counts.js';
import type { LeaksView } from '../../src/client/leaks.js';
import { parseKeyRing } from '../../src/secrets/keys.js';
import { countKeyMisses } from '../../src/worker/count-key-misses.js';
import { countTasks } from '../../src/worker/count-tasks.js';
import type { Point } from '../../src/worker/metric-table.js';
import { observe, sweepPoints } from '../../src/worker/observe.js';
import { publish } from '../../src/worker/publish-metrics.js';
import { newFolder } from '../harness/folder.js';
import { until } from '../harness/until.js';

/** What was published, as lines such as `heddle_key_misses 1`. */
function lines(points: readonly Point[]): readonly string[] {
  return points.map(({ name, tags, value }) => [name, ...Object.values(tags), value].join(' '));
}

describe('attempts of tasks', () => {
  async function attempt(activityType: string, run: () => Promise<unknown>): Promise<readonly string[]> {
    const points: Point[] = [];
    const quiet = { logger: new DefaultLogger('ERROR') };
    const environment = new MockActivityEnvironment({ activityType }, quiet);
    await environment
      .run(() => {
        const { inbound } = countTasks((more) => points.push(...more))(environment.context);
        points.length = 0;
        if (inbound?.execute === undefined) throw new Error('the interceptor intercepts nothing');
        return inbound.execute({ args: [], headers: {} }, run);
      })
      .catch(() => undefined);
    return lines(points);
  }

  it('are counted by result', async () => {
    const failure = ApplicationFailure.create({ message: 'full', type: 'Capacity' });
    expect(await attempt('CREATE', () => Promise.resolve({}))).toEqual([
      'heddle_task_attempts CREATE done 1',
    ]);
    expect(await attempt('CREATE', () => Promise.reject(failure))).toEqual([
      'heddle_task_attempts CREATE Capacity 1',
    ]);
    expect(await attempt('PLAN', () => Promise.reject(new TypeError('x')))).toEqual([
      'heddle_task_attempts PLAN Internal 1',
    ]);
    const named = ApplicationFailure.create({ message: 'x', type: 'TypeError' });
    expect(await attempt('PLAN', () => Promise.reject(named))).toEqual([
      'heddle_task_attempts PLAN Internal 1',
    ]);
  });

  it('that probe machines count what they found', async () => {
    const reply = { observations: [{ seen: 'gone' }, { seen: 'gone' }, { seen: 'moved' }], unknown: [{}] };
    const sealed = { heddleAt: 1, heddleCall: 'c', result: reply };
    expect(await attempt('PROBE_NODES', () => Promise.resolve(sealed))).toEqual([
      'heddle_task_attempts PROBE_NODES done 1',
      'heddle_drift_observations gone 1',
      'heddle_drift_observations gone 1',
      'heddle_drift_observations moved 1',
      'heddle_drift_observations unknown 1',
    ]);
  });
});

describe('key misses', () => {
  it('are counted where a payload names a key that the worker lacks, and are 0 before', () => {
    const points: Point[] = [];
    const key = {
      id: 'k0000001',
      createdAt: '2026-01-01T00:00:00Z',
      key: Buffer.alloc(32, 7).toString('base64'),
    };
    const ring = parseKeyRing(JSON.stringify({ version: 1, current: key.id, keys: [key] }), 'a test');
    const counted = countKeyMisses(ring, (more) => points.push(...more));
    expect(counted.find(counted.current().id)).toEqual(ring.current());
    expect(() => counted.find('kffffffff')).toThrow('kffffffff');
    expect(lines(points)).toEqual(['heddle_key_misses 0', 'heddle_key_misses 1']);
  });
});

describe('observations', () => {
  it('name the kind of the failure that holds a cluster, not of one that was tolerated', () => {
    const failure = { nodeId: 'a-1', taskId: 't', action: 'START', message: 'm', at: 'now' };
    const held = (...failures: readonly object[]): Parameters<typeof causeOfHeld>[0] =>
      ({ failures }) as unknown as Parameters<typeof causeOfHeld>[0];
    expect(
      causeOfHeld(
        held({ ...failure, kind: 'Capacity', tolerated: true }, { ...failure, kind: 'ScriptFailed' }),
      ),
    ).toBe('ScriptFailed');
    expect(causeOfHeld(held())).toBe('other');
    expect(causeOfHeld(undefined)).toBe('other');
  });

  it.each([
    [
      '["category=WorkflowTaskFailed","cause=WorkflowTaskFailedCauseNonDeterministicError"]',
      'NonDeterministicError',
    ],
    ['"cause=WorkflowTaskTimedOut"', 'WorkflowTaskTimedOut'],
    ['["category=new"]', 'unknown'],
  ])('read the cause of a stuck workflow from %s', (text, cause) => {
    expect(causeOfStuck(Buffer.from(text))).toBe(cause);
  });

  it('show the last pass of the sweep, its refusals, and the orphans that it left', () => {
    const report = {
      at: '2026-03-01T00:00:10Z',
      accounts: [
        { name: 'a', machines: 9, leaks: 3 },
        { name: 'b', machines: 1, leaks: 0 },
      ],
      deleted: [{ account: 'a' }, { account: 'a', failed: 'no' }],
      refused: ['one', 'two'],
    };
    const view = { report, schedule: { paused: 'by me', everyMs: 900_000 } } as unknown as LeaksView;
    expect(lines(sweepPoints(view))).toEqual([
      `heddle_sweep_last_pass_timestamp_seconds ${Date.parse(report.at) / 1_000}`,
      'heddle_sweep_interval_seconds 900',
      'heddle_sweep_paused 1',
      'heddle_sweep_refusals 2',
      'heddle_orphaned_machines a 2',
      'heddle_orphaned_machines b 0',
    ]);
    expect(lines(sweepPoints(undefined))[0]).toBe('heddle_sweep_last_pass_timestamp_seconds 0');
  });

  it('set a value to 0 that is gone, and keep the values of a server that does not answer', async () => {
    const stuck = { value: '["cause=WorkflowTaskFailedCauseUnhandledCommand"]' as string | undefined };
    const { temporal, queries } = clientWithStuck(stuck);
    const points: Point[] = [];
    const warnings: string[] = [];
    const log = { warn: (_attributes: object, message: string) => warnings.push(message) };
    const seen = (line: string): Promise<unknown> =>
      until(line, () => Promise.resolve(lines(points.splice(0)).includes(line)));
    const folders = { data: newFolder() };
    const stop = observe({ temporal, folders, log: log as never }, (more) => points.push(...more), 20);
    try {
      expect(lines(points)).toEqual(
        ['clusters', 'held', 'workflows', 'sweep'].map(
          (of) => `heddle_observation_timestamp_seconds ${of} 0`,
        ),
      );
      // The list of held clusters gets no answer, and stops nothing else.
      await seen('heddle_workflows_stuck UnhandledCommand 1');
      stuck.value = undefined;
      await seen('heddle_workflows_stuck UnhandledCommand 0');
      await seen('heddle_workflows_stuck none 0');
      const disk = points.find(({ name }) => name === 'heddle_disk_free_bytes');
      expect(disk?.value ?? 1).toBeGreaterThan(0);
      // The counts of clusters fail in this client, each time for the same reason.
      expect(points.filter(({ name }) => name === 'heddle_clusters')).toEqual([]);
      expect(warnings.toSorted()).toEqual([
        'the metrics of clusters are not up to date',
        'the metrics of sweep are not up to date',
      ]);
      expect(queries.filter((query) => query.includes("'held'"))).toHaveLength(1);
      // The namespace may have workflows of other programs.
      expect(queries.find((query) => query.includes('TemporalReportedProblems'))).toContain(
        "WorkflowType IN ('cluster', 'group', ",
      );
    } finally {
      stop();
    }
  });

  it('ask the held clusters that wait longest for their cause', async () => {
    const asked: string[] = [];
    let now = 1;
    const countHeld = createCountHeld(() => now);
    const temporal = clientWithHeld(70, asked);
    const turn = async (after: number): Promise<readonly string[]> => {
      now += after;
      asked.length = 0;
      await countHeld(temporal);
      return [...asked];
    };
    const named = (from: number, to: number): readonly string[] =>
      Array.from({ length: to - from }, (_, index) => `cluster/c${from + index}`);
    expect(await turn(0)).toEqual(named(0, 50));
    expect(await turn(30_000)).toEqual(named(50, 70));
    expect(await turn(30_000)).toEqual([]);
    // All are due, and the last ones would never be asked if the first ones always came first.
    expect(await turn(20 * 60_000)).toEqual(named(0, 50));
    expect(await turn(20 * 60_000)).toEqual([...named(50, 70), ...named(0, 30)]);
  });
});

test('a value that cannot be published fails nothing', () => {
  expect(() => publish([{ name: 'heddle_key_misses', tags: {}, value: -1 }])).not.toThrow();
});

function clientOf(list: (query: string) => Promise<readonly object[]>, more: object): Client {
  return {
    options: { namespace: 'default' },
    withDeadline: (_at: number, make: () => Promise<unknown>) => make(),
    workflowService: {
      listWorkflowExecutions: async ({ query }: { readonly query: string }) => ({
        executions: await list(query),
      }),
    },
    ...more,
  } as unknown as Client;
}

/** A client whose server only lists stuck workflows: the list of held clusters never ends, all else fails. */
function clientWithStuck(stuck: { readonly value: string | undefined }): {
  readonly temporal: Client;
  readonly queries: readonly string[];
} {
  const queries: string[] = [];
  const indexedFields = (text: string): object => ({ TemporalReportedProblems: { data: Buffer.from(text) } });
  const list = (query: string): Promise<readonly object[]> => {
    queries.push(query);
    if (query.includes("'held'")) return new Promise(() => undefined);
    return Promise.resolve(
      stuck.value === undefined ? [] : [{ searchAttributes: { indexedFields: indexedFields(stuck.value) } }],
    );
  };
  const temporal = clientOf(list, { workflow: { count: () => Promise.reject(new Error('not here')) } });
  return { temporal, queries };
}

/** A client whose server lists held clusters, none of which answers. */
function clientWithHeld(count: number, asked: string[]): Client {
  const executions = Array.from({ length: count }, (_, index) => ({
    execution: { workflowId: `cluster/c${index}` },
  }));
  const getHandle = (workflowId: string): object => ({
    executeUpdate: () => {
      asked.push(workflowId);
      return Promise.reject(new Error('no answer'));
    },
  });
  return clientOf(() => Promise.resolve(executions), { workflow: { getHandle } });
}
