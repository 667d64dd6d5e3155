import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { temporal } from '@temporalio/proto';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { ReplayReport } from '../../src/replay/index.js';
import { type Ended, runHeddle } from '../harness/cli/run-heddle.js';
import { type Stack, startStack } from '../harness/stack.js';
import { type Ledger, onceEach, openLedger } from '../harness/workflows/ledger.js';
import { closed, nodes } from '../harness/workflows/spec.js';
import { type BuildCopy, buildWith } from '../harness/replay/build-copy.js';

const patience = { everyMs: 100 } as const;
const patch = '20270101-breathe-before-tasks';

/**
 * Three builds: the present one (A), one with a patched change (B), and one with the same change and no patch
 * (bad).
 */
describe('workers of another build that take over running clusters', () => {
  let stack: Stack;
  let ledger: Ledger;
  let builds: { readonly A: string; readonly B: string; readonly bad: string };
  const copies: BuildCopy[] = [];

  beforeAll(async () => {
    const A = inject('distPath');
    const copy = async (before: string): Promise<string> => {
      const made = await buildWith(A, before);
      copies.push(made);
      return made.distPath;
    };
    builds = {
      A,
      B: await copy(`if (patched('${patch}')) await sleep(1);`),
      bad: await copy('await sleep(1);'),
    };
    stack = await startStack({ temporalAddress: inject('temporalAddress'), distPath: A });
    ledger = openLedger(stack.folder);
  });
  afterAll(async () => {
    await stack.stop();
    for (const copy of copies) await copy.remove();
  });

  const replay = (distPath: string, ...words: readonly string[]): Promise<Ended> =>
    runHeddle(['replay', ...words, '--json'], {
      distPath,
      env: {
        HEDDLE_DATA_FOLDER: join(stack.folder, 'worker'),
        TEMPORAL_ADDRESS: inject('temporalAddress'),
        TEMPORAL_NAMESPACE: stack.namespace,
        HEDDLE_CONFIG: join(stack.folder, 'replay.yaml'),
      },
    });

  async function apply(name: string, gate: string, count = 1): Promise<string> {
    const { operation } = await stack.client.apply(
      closed({
        name,
        nodes: { app: nodes(count, ['app']) },
        services: {
          app: { peers: 'none', actions: { install: ledger.script(), start: ledger.script({ gate }) } },
        },
      }),
    );
    return operation;
  }

  const settled = async (name: string, operation: string): Promise<string> =>
    (await stack.client.waitFor(name, operation, patience)).operation.state;
  const patchesOf = async (name: string): Promise<readonly string[]> => {
    const { events } = await stack.client.temporal.workflow.getHandle(`cluster/${name}`).fetchHistory();
    return (events ?? []).flatMap(({ markerRecordedEventAttributes: marker }) =>
      marker?.markerName === 'core_patch' ? [textOf(marker)] : [],
    );
  };

  it('continue during an operation, forward and back, if the change is patched', async () => {
    await writeFile(
      join(stack.folder, 'replay.yaml'),
      JSON.stringify({
        dataFolder: join(stack.folder, 'replay'),
        keys: { folder: join(stack.folder, 'keys') },
      }),
    );
    const A = await stack.startWorker('a');
    const first = await apply('old', 'old');
    await ledger.written('old app-1 app START begin');

    // Before any worker of a build takes it: what would each do with the cluster that is under way?
    expect(await replay(builds.B, '--all-running')).toMatchObject({ code: 0 });
    const bad = await replay(builds.bad, '--all-running');
    expect(bad.code).toBe(1);
    expect(reportOf(bad, 'cluster/old')?.error).toMatchObject({
      kind: 'nondeterminism',
      event: { type: 'ActivityTaskScheduled' },
      message: expect.stringMatching(
        /the history has event \d+, ActivityTaskScheduled .*; this build starts a timer there/,
      ),
    });
    await A.kill();

    const B = await stack.startWorker('b', builds.B);
    await ledger.open('old');
    expect(await settled('old', first)).toBe('done');
    const made = await apply('new', 'new');
    await ledger.written('new app-1 app START begin');
    await ledger.open('new');
    expect(await settled('new', made)).toBe('done');
    expect(await patchesOf('old')).toEqual([]);
    expect(await patchesOf('new')).toEqual([patch]);
    await B.stop();

    // Going back: what B started holds the patch, which A does not have.
    const back = await replay(builds.A, '--all-running');
    expect(back.code).toBe(1);
    expect(reportOf(back, 'cluster/old')).toMatchObject({ ok: true });
    expect(reportOf(back, 'cluster/new')?.error).toMatchObject({
      kind: 'nondeterminism',
      message: expect.stringContaining(`patched('${patch}')`),
      event: { type: 'MarkerRecorded', about: patch },
    });
    await stack.startWorker('a-again');
    const scaled = await apply('old', 'old', 2);
    expect(await settled('old', scaled)).toBe('done');
    expect(await ledger.lines('old ')).toEqual([
      ...onceEach('old app-1 app', ['INSTALL', 'START']),
      ...onceEach('old app-2 app', ['INSTALL', 'START']),
    ]);
  });
});

function reportOf({ stdout }: Ended, workflow: string): ReplayReport | undefined {
  return (JSON.parse(stdout) as { readonly histories: readonly ReplayReport[] }).histories.find(
    ({ workflowId }) => workflowId === workflow,
  );
}

function textOf(marker: temporal.api.history.v1.IMarkerRecordedEventAttributes): string {
  return (
    JSON.parse(Buffer.from(marker.details?.['patch-data']?.payloads?.[0]?.data ?? []).toString('utf8')) as {
      readonly id: string;
    }
  ).id;
}
