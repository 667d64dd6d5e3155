import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import {
  type HistoryToReplay,
  type ReplayOptions,
  type ReplayReport,
  replayHistories,
  runningHistories,
} from '../../src/replay/index.js';
import { readHistory } from '../../src/replay/read-history.js';
import { createKeys, type KeyRing, openKeyRing } from '../../src/secrets/keys.js';
import { heddle } from '../../src/temporal-plugin.js';
import { type Stack, startStack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { type Bundles, makeBundles } from '../harness/replay/fixture-bundle.js';

const body = "await one({ say: input }); await two('second'); await sdk.condition(() => false);";
const taskQueue = 'fixture';

describe('replayHistories', () => {
  let stack: Stack;
  let bundles: Bundles;
  let keys: KeyRing;
  let present: string;
  let stopWorkers: (() => Promise<void>) | undefined;

  beforeAll(async () => {
    Runtime.install({
      logger: new DefaultLogger('ERROR', () => undefined),
      telemetryOptions: { logging: { filter: { core: 'ERROR', other: 'ERROR' } } },
    });
    stack = await startStack();
    keys = openKeyRing({ folder: join(stack.folder, 'keys'), create: false });
    bundles = await makeBundles(body, inject('distPath'));
    ({ present } = bundles);
    stopWorkers = await startFixtures();
  });
  afterAll(async () => {
    await stopWorkers?.();
    await stack.stop();
    await rm(bundles.folder, { recursive: true, force: true });
  });

  /**
   * Three clusters with encrypted payloads and one, on a queue of its own, with plain ones; each stops after
   * its second activity.
   */
  async function startFixtures(): Promise<() => Promise<void>> {
    const { namespace } = stack;
    const connection = await NativeConnection.connect({ address: inject('temporalAddress') });
    const base = {
      connection,
      namespace,
      workflowBundle: { codePath: present },
      activities: { one: () => 'done', two: () => 'fine' },
    };
    const workers = await Promise.all([
      Worker.create({ ...base, taskQueue, plugins: [heddle({ keys, namespace })] }),
      Worker.create({ ...base, taskQueue: 'plain' }),
    ]);
    const ended = workers.map((worker) => worker.run());
    const { workflow } = stack.client.temporal;
    for (const id of [1, 2, 3])
      await workflow.start('cluster', { workflowId: `cluster/${id}`, taskQueue, args: [{ name: 'web' }] });
    await new Client({ connection, namespace }).workflow.start('cluster', {
      workflowId: 'plain',
      taskQueue: 'plain',
      args: [{ name: 'web' }],
    });
    for (const id of ['cluster/1', 'cluster/2', 'cluster/3', 'plain']) {
      await until(
        `${id} at rest`,
        async () => ((await workflow.getHandle(id).fetchHistory()).events ?? []).length === 16,
      );
    }
    return async () => {
      for (const worker of workers) worker.shutdown();
      await Promise.all(ended);
      await connection.close();
    };
  }

  async function fetched(workflowId = 'cluster/1'): Promise<HistoryToReplay> {
    return { history: await stack.client.temporal.workflow.getHandle(workflowId).fetchHistory() };
  }

  async function show(workflowId: string): Promise<string> {
    const words = [
      'workflow',
      'show',
      '--workflow-id',
      workflowId,
      '--output',
      'json',
      '--namespace',
      stack.namespace,
      '--address',
      inject('temporalAddress'),
    ];
    return (await promisify(execFile)(inject('temporalBinary'), words)).stdout;
  }

  async function replay(
    histories: Iterable<HistoryToReplay> | AsyncIterable<HistoryToReplay>,
    options: ReplayOptions = {},
  ): Promise<readonly ReplayReport[]> {
    const reports: ReplayReport[] = [];
    for await (const report of replayHistories(histories, {
      keys,
      namespace: stack.namespace,
      bundlePath: present,
      ...options,
    }))
      reports.push(report);
    return reports;
  }

  /** What becomes of the history where a build does something else in the place of a text. */
  async function fault(from: string, to: string): Promise<ReplayReport['error']> {
    const [report] = await replay([await fetched()], { bundlePath: await bundles.change(from, to) });
    return report?.error;
  }

  async function scheduled(activity: string): Promise<number> {
    const { history } = await fetched();
    const found = readHistory(history).events?.find(
      (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === activity,
    );
    return Number(String(found?.eventId));
  }

  it('accepts a history from the server, the CLI and the Web UI', async () => {
    const { history } = await fetched();
    const text = historyToJSON(readHistory(history));
    const { events } = JSON.parse(text) as { readonly events: readonly object[] };
    const reports = await replay(
      [history, await show('cluster/1'), text, events, { history: { events } }].map((each) => ({
        history: each,
      })),
    );
    expect(reports.map(({ workflowId, ok, error }) => ({ workflowId, ok, error }))).toEqual(
      reports.map(() => ({ workflowId: 'cluster/1', ok: true, error: undefined })),
    );
    expect(new Set(reports.map(({ runId }) => runId)).size).toBe(1);
  });

  it('accepts plain payloads, in the short forms of the HTTP API and of a decoding Web UI, without keys', async () => {
    const text = await show('plain');
    const asHttp = shorten(JSON.parse(text), (values) => values);
    const asWebUi = shorten(JSON.parse(text), (payloads) => ({ payloads }));
    expect(asHttp).toMatchObject({
      events: { 0: { workflowExecutionStartedEventAttributes: { input: [{ name: 'web' }] } } },
    });
    expect(asWebUi).toMatchObject({
      events: { 0: { workflowExecutionStartedEventAttributes: { input: { payloads: [{ name: 'web' }] } } } },
    });
    const long = readHistory(text);
    expect(readHistory(asHttp)).toEqual(long);
    expect(readHistory(asWebUi)).toEqual(long);
    const reports = await collect(
      replayHistories(
        [text, asHttp, asWebUi].map((history) => ({ history })),
        { bundlePath: present },
      ),
    );
    expect(reports).toMatchObject(Array.from({ length: 3 }, () => ({ ok: true, workflowId: 'plain' })));
  });

  it('names the event at which another activity would be scheduled', async () => {
    expect(await fault("two('second')", "three('second')")).toMatchObject({
      kind: 'nondeterminism',
      event: { id: await scheduled('two'), type: 'ActivityTaskScheduled' },
      message: expect.stringMatching(
        /the history has event \d+, ActivityTaskScheduled.*; this build goes on with another activity type there: three/,
      ),
    });
  });

  it('names what the build does if the history contains something else, or nothing', async () => {
    const event = { id: await scheduled('two') };
    expect(await fault('await two', 'await sdk.sleep(1); await two')).toMatchObject({
      kind: 'nondeterminism',
      event,
      message: expect.stringContaining('this build starts a timer there'),
    });
    expect(await fault('await two', 'return; await two')).toMatchObject({
      kind: 'nondeterminism',
      event,
      message: expect.stringContaining('this build completes the workflow there'),
    });
    expect(await fault('await two', 'await sdk.condition(() => false); await two')).toMatchObject({
      kind: 'nondeterminism',
      event,
      message: expect.stringContaining('this build does nothing there'),
    });
  });

  it('a change behind patched() replays', async () => {
    expect(await fault('await two', "if (sdk.patched('p')) await sdk.sleep(1); await two")).toBeUndefined();
  });

  it('shows the error that the code of a build throws, although its message is encrypted', async () => {
    expect(await fault('await two', "throw new Error('the state is too new'); await two")).toMatchObject({
      kind: 'failure',
      message: expect.stringMatching(/^this build's workflow fails at event \d+: the state is too new$/),
      event: { id: (await scheduled('one')) + 4, type: 'WorkflowTaskStarted' },
    });
  });

  it('names a workflow type that the build lacks', async () => {
    const history = (await show('cluster/1')).replaceAll('"name": "cluster"', '"name": "loom"');
    const [report] = await replay([{ history }]);
    expect(report).toMatchObject({ workflowType: 'loom', error: { kind: 'unknown-type' } });
    expect(report?.error).toMatchObject({
      message: expect.stringContaining('workflow type "loom", which this build does not have'),
    });
  });

  it('names the missing key and the event, and continues with the next history', async () => {
    const others = createKeys(join(bundles.folder, 'other-keys'));
    const reports = await replay([await fetched(), await fetched('plain')], { keys: others });
    expect(reports).toMatchObject([
      {
        ok: false,
        error: {
          kind: 'undecryptable',
          event: { id: 1 },
          message: expect.stringMatching(
            new RegExp(`key ${keys.list()[0]?.id ?? ''} is not in .*heddle keys import`),
          ),
        },
      },
      { ok: true },
    ]);
    expect(await replay([await fetched()], { namespace: 'another' })).toMatchObject([
      { error: { kind: 'undecryptable', message: expect.stringContaining("namespace 'another'") } },
    ]);
    expect(await collect(replayHistories([await fetched()], { bundlePath: present }))).toMatchObject([
      { error: { kind: 'undecryptable', message: expect.stringContaining('no keys') } },
    ]);
  });

  it('explains why a file is not a history', async () => {
    const { events } = JSON.parse(await show('cluster/1')) as { readonly events: readonly object[] };
    const cases: readonly (readonly [unknown, RegExp])[] = [
      ['{', /is not JSON/],
      ['[]', /without a single event/],
      ['{}', /no list "events"/],
      ['null', /no list "events"/],
      ['{"events":[{}]}', /is JSON, but not a history/],
      [{ events: events.slice(1) }, /does not begin with the start/],
      [{ events: events.toSpliced(4, 1) }, /lacks event 5/],
      [
        {
          events: events.map((event, index) =>
            index === 4 ? { ...event, eventType: 'EVENT_TYPE_NEVER_HEARD_OF' } : event,
          ),
        },
        /is (not a complete history|JSON, but not a history)/,
      ],
    ];
    const reports = await replay(cases.map(([history]) => ({ history })));
    for (const [index, [, words]] of cases.entries())
      expect(reports[index]?.error).toMatchObject({
        kind: 'not-a-history',
        message: expect.stringMatching(words),
      });
    expect(await replay([{ history: { events: events.slice(0, 1) } }]), 'a delayed start').toMatchObject([
      { ok: true },
    ]);
  });

  it('replays all running workflows, fetched page by page and a few ahead', async () => {
    const calls: string[] = [];
    const call = <Result>(what: string, make: () => Promise<Result>): Promise<Result> => {
      calls.push(what);
      return make();
    };
    const running = (): AsyncGenerator<HistoryToReplay> =>
      runningHistories(stack.client.temporal, { pageSize: 1, ahead: 1, call });
    await until('all are listed', async () => (await collect(running())).length === 4);
    calls.length = 0;
    const histories = running();
    await histories.next();
    expect(calls.filter((what) => what.startsWith('history of'))).toHaveLength(2);
    await histories.return(undefined);
    calls.length = 0;
    const reports = await replay(running());
    expect(reports.map(({ workflowId, ok }) => `${workflowId} ${ok}`).toSorted()).toEqual([
      'cluster/1 true',
      'cluster/2 true',
      'cluster/3 true',
      'plain true',
    ]);
    expect(calls.filter((what) => what === 'running workflows').length).toBeGreaterThanOrEqual(4);
  });
});

async function collect<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const collected: Item[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

/** Puts the values of payloads in place of lists of payloads. */
function shorten(value: unknown, wrap: (values: readonly unknown[]) => unknown): unknown {
  if (Array.isArray(value)) return value.map((entry) => shorten(entry, wrap));
  if (typeof value !== 'object' || value === null) return value;
  if ('payloads' in value && Array.isArray(value.payloads)) {
    const payloads = value.payloads as readonly { readonly data?: string }[];
    return wrap(
      payloads.map(({ data }): unknown =>
        data === undefined ? null : JSON.parse(Buffer.from(data, 'base64').toString('utf8')),
      ),
    );
  }
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, shorten(entry, wrap)]));
}
