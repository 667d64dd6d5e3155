import { describe, expect, it } from 'vitest';
import { printFailures } from '../../src/cli/cluster/failure-text.js';
import { printHistory } from '../../src/cli/cluster/history-text.js';
import { nextSteps } from '../../src/cli/cluster/next-steps.js';
import { Output } from '../../src/cli/output.js';
import { describeDrift, driftOf } from '../../src/cli/cluster/plan/drift.js';
import { printPlan } from '../../src/cli/cluster/plan/print-plan.js';
import { cancelShown } from '../../src/cli/cluster/control.js';
import { outcomeShown } from '../../src/cli/cluster/outcome.js';
import type { ServerView, ClusterStatus, NodeStatus } from '../../src/schema/output/status.js';
import { printNext, printStatus } from '../../src/cli/cluster/status-text.js';
import { findTroubles } from '../../src/cli/system/troubles.js';
import { show as showAnswer } from '../../src/cli/verb.js';
import type { WaitResult } from '../../src/client/wait.js';
import type { FailureRecord } from '../../src/model/node/failure.js';
import type { Drift } from '../../src/model/node/drift.js';
import type { Operation } from '../../src/model/cluster/operation.js';
import type { Kind, Plan, Step } from '../../src/model/plan/plan.js';

const now = Date.parse('2026-01-01T00:01:00Z');
const at = '2026-01-01T00:00:30Z';
const operation = (more: Partial<Operation> = {}): Operation => ({
  id: '2',
  uid: 'abcdef012345',
  kind: 'apply',
  intent: { kind: 'apply' },
  what: 'apply',
  state: 'running',
  by: 'ann@host',
  requestedAt: '2026-01-01T00:00:00Z',
  startedAt: '2026-01-01T00:00:00Z',
  tasks: { total: 4, done: 3, failed: 0 },
  ...more,
});
const node = (nodeId: string, failure?: Partial<FailureRecord>): NodeStatus => ({
  nodeId,
  group: 'app',
  nodenum: 1,
  hostname: nodeId,
  incarnation: 1,
  services: [],
  running: [],
  state: failure === undefined ? 'ready' : 'failed',
  payload: {},
  failure:
    failure === undefined
      ? undefined
      : {
          taskId: 't',
          action: 'START',
          kind: 'ScriptFailed',
          message: 'no',
          at: '2026-01-01T00:00:30Z',
          ...failure,
        },
});
const status = (more: Partial<ClusterStatus> = {}): ClusterStatus => ({
  name: 'web',
  uid: 'u',
  phase: 'idle',
  queued: [],
  history: [],
  revisions: [],
  nodes: [],
  services: {},
  stopped: [],
  checks: { asked: 0, done: 0 },
  ...more,
});

const off: NodeStatus = {
  ...node('app-1'),
  drift: { seen: 'stopped', why: 'machine m-1 should run, but lab reports that it is switched off', at },
};

function reportEnd(output: Output, end: WaitResult): number {
  return showAnswer(output, { end }, [], outcomeShown);
}

/** What is written, for people or as documents. */
function record(options: { readonly json?: boolean; readonly columns?: number } = {}): {
  readonly output: Output;
  readonly lines: string[];
  readonly notes: string[];
} {
  const lines: string[] = [];
  const notes: string[] = [];
  const { json = false, columns } = options;
  class Recorder extends Output {
    override readonly columns = columns;
    override raw(text: string): void {
      if (!json) lines.push(text);
    }
    override note(text: string): void {
      notes.push(text);
    }
    protected override write(): void {}
  }
  const output = new Recorder({ json });
  return { output, lines, notes };
}

describe('a plan as text', () => {
  const kinds: readonly Kind[] = [
    {
      group: 'app',
      purpose: 'replace',
      nodes: [[2, 2]],
      services: ['app'],
      chain: [{ action: 'DELETE', reason: 'its machine is gone' }, { action: 'CREATE' }],
    },
    {
      group: 'app',
      purpose: 'update',
      nodes: [
        [1, 1],
        [3, 4],
      ],
      services: ['app'],
      chain: [
        {
          action: 'START',
          service: 'app',
          reason: 'its start changed',
          after: ['START:db', 'first/START:app'],
          batchSlot: 'app',
        },
      ],
    },
    { group: 'app', purpose: 'exec', nodes: [[5, 5]], services: [], chain: [{ action: 'EXEC' }] },
  ];
  const plan = { kinds, gates: {}, placements: {}, width: 2, digest: '' };
  const seen = (
    index: number,
    drift: Drift,
  ): {
    group: string;
    nodes: readonly [readonly [number, number]];
    facts: { services: object; seen: Drift };
  } => ({ group: 'app', nodes: [[index, index]], facts: { services: {}, seen: drift } });
  const show = (verbose: boolean, columns?: number): readonly string[] => {
    const { output, lines } = record(columns === undefined ? {} : { columns });
    const current = { nodes: [seen(2, 'gone'), seen(6, 'stopped')] as never, services: {}, stopped: ['db'] };
    printPlan(output, {
      name: 'web',
      what: 'apply, 2 at a time',
      preview: {
        plan,
        current,
        basis: { operation: 0 },
        losses: { lost: ['app-2'], released: ['app-7', 'app-8'] },
        changes: [],
        warnings: [],
      },
      verbose,
    });
    return lines;
  };

  it('shows drift and stopped services first, then a line for each service of equal nodes with the reason', () => {
    expect(show(false)).toEqual([
      'drift: app-2: its machine is gone; replaced by a new one',
      'drift: app-6: its machine is switched off; no action',
      'stopped by a user, and not started: db',
      '',
      'cluster web: apply, 2 at a time',
      '',
      '-/+ replace app-2: its machine is gone',
      '',
      '~ change app-1, app-3, app-4 (3 nodes)',
      '    app  start: its start changed',
      '',
      '> run a command on app-5',
      '',
      'Plan: 3 nodes to change, 1 to replace, 1 to run a command on; 6 tasks, 2 at a time. The machine, disk and address of app-2 are lost. The machines of app-7, app-8 are released.',
    ]);
  });

  it('has all parts of a node in one place, and counts the node once', () => {
    const step = (action: Step['action'], service: string, more: Partial<Step> = {}): Step => ({
      action,
      service,
      ...more,
    });
    const update = { group: 'app', purpose: 'update', services: ['app', 'log'] } as const;
    const restart = ['STOP', 'CONFIGURE', 'START'].map((action) =>
      step(action as Step['action'], 'app', { reason: 'its configuration changed' }),
    );
    const drain = { group: 'lb', purpose: 'update', services: ['lb'] } as const;
    const batches: Plan = {
      gates: {},
      placements: {},
      kinds: [
        { ...update, nodes: [[1, 1]], chain: restart },
        {
          ...drain,
          nodes: [[1, 1]],
          chain: [
            step('CONFIGURE', 'lb', { without: ['app-1'], reason: 'without app-1' }),
            step('CONFIGURE', 'lb', { without: [], reason: 'all nodes are back' }),
          ],
        },
        { ...update, purpose: 'remove', services: [], nodes: [[4, 4]], chain: [step('STOP', 'app')] },
      ],
      later: [
        { ...update, nodes: [[2, 2]], chain: restart },
        { ...update, nodes: [[1, 3]], chain: [step('INSTALL', 'log'), step('START', 'log')] },
        { ...drain, nodes: [[1, 1]], chain: [step('STOP', 'old')] },
      ],
    };
    const { output, lines } = record();
    const preview = {
      plan: { ...batches, digest: '' },
      current: { nodes: [], services: {} },
      basis: { operation: 0 },
      losses: { lost: [], released: [] },
      changes: [],
      warnings: [],
    };
    printPlan(output, { name: 'web', what: 'apply', preview });
    expect(lines.slice(1)).toEqual([
      '',
      '~ change app-1, app-2 (2 nodes)',
      '    app  stop, configure, start: its configuration changed',
      '    log  install, start: new',
      '',
      '- remove app-4',
      '    app  stop',
      '',
      '~ change app-3',
      '    log  install, start: new',
      '',
      '~ change lb-1',
      '    lb   configure: drains nodes while they change',
      '    old  stop: the spec no longer has it there',
      '',
      expect.stringMatching(/^Plan: 4 nodes to change, 1 to remove; /),
    ]);
  });

  it('has every step in order with what it waits for, if that is wanted', () => {
    expect(show(true).slice(5)).toEqual([
      '',
      '-/+ replace app-2: its machine is gone',
      '     1. DELETE',
      '     2. CREATE',
      '',
      '~ change app-1, app-3, app-4 (3 nodes)',
      '     1. START app  its start changed; waits for: db started, app started on the nodes where it is down',
      '',
      '> run a command on app-5',
      '     1. EXEC',
      '',
      'Plan: 3 nodes to change, 1 to replace, 1 to run a command on; 6 tasks, 2 at a time. The machine, disk and address of app-2 are lost. The machines of app-7, app-8 are released.',
    ]);
  });

  it('wraps long reasons at the width of the terminal', () => {
    const lines = show(true, 60);
    expect(lines.slice(5, -1).every((line) => line.length < 60)).toBe(true);
    expect(lines).toContain('     1. START app  its start changed; waits for: db');
  });

  it.each([
    ['moved', [{ action: 'CONFIRM' }], 'app-1: its machine has another address; confirmed again'],
    [
      'rebooted',
      [{ action: 'CONFIRM' }, { action: 'START', service: 'app' }],
      'app-1: its machine was rebooted; confirmed again, then its services are started',
    ],
    ['unreachable', [], 'app-1: its machine does not answer; no action'],
  ] as const)('shows what happens to a machine that is %s', (drift, chain, text) => {
    const made: Plan = {
      ...plan,
      kinds: [{ group: 'app', purpose: 'update', nodes: [[1, 1]], services: [], chain }],
    };
    expect(driftOf({ nodes: [seen(1, drift)] as never, services: {} }, made).map(describeDrift)).toEqual([
      text,
    ]);
  });
});

describe('a cluster as text', () => {
  it('suggests a restart of services on a rebooted machine, which helps also where repair does nothing', () => {
    const drift = { seen: 'rebooted', why: 'machine m-1 was rebooted', at } as const;
    const steps = nextSteps(status({ nodes: [{ ...node('app-1'), services: ['app', 'log'], drift }] }), now);
    expect(steps.map(({ command }) => command)).toContain('heddle restart web app log');
  });

  it('names machines with drift', () => {
    const { output, lines } = record();
    printStatus(output, status({ nodes: [off, node('app-2')] }), { troubles: [], deliveries: [] }, now);
    expect(lines).toEqual(
      expect.arrayContaining([
        'drift: app-1: machine m-1 should run, but lab reports that it is switched off (checked 30 s ago)',
      ]),
    );
    expect(lines.at(-1)).toMatch(/^next: heddle machine power web\/app-1 on /);
  });
});

describe('the next command', () => {
  const held = (nodes: readonly NodeStatus[], more: Partial<Operation> = {}): ClusterStatus =>
    status({ phase: 'held', operation: operation({ state: 'held', ...more }), nodes });
  it.each<readonly [string, ClusterStatus, readonly string[]]>([
    ['at rest', status(), []],
    ['running', status({ operation: operation() }), ['heddle status web --watch']],
    [
      'paused',
      status({ operation: operation({ paused: { by: 'bob', at: '2026-01-01T00:00:00Z' } }) }),
      ['heddle resume web', 'heddle cancel web'],
    ],
    [
      'held by a script',
      { ...held([node('app-1', {})]), earlierSpec: true },
      [
        'heddle retry web',
        'heddle replace web app-1',
        'heddle apply FILE',
        'heddle rollback web',
        'heddle cancel web',
        'heddle delete web',
      ],
    ],
    [
      'held by CREATE, with no spec to go back to',
      held([node('app-1', { action: 'CREATE', kind: 'Quota' })]),
      ['heddle retry web', 'heddle apply FILE', 'heddle cancel web', 'heddle delete web'],
    ],
    [
      'held by a restart',
      held([node('app-1', {})], { kind: 'restart' }),
      ['heddle retry web', 'heddle cancel web'],
    ],
    [
      'not all that it should be',
      status({ nodes: [off, { ...node('app-2'), drift: { seen: 'unreachable', why: 'no answer', at } }] }),
      [
        'heddle machine power web/app-1 on',
        'heddle machine power web/app-2 reset',
        'heddle replace web app-2',
      ],
    ],
    [
      'at rest with a node that was not removed',
      status({ nodes: [{ ...node('app-1'), state: 'leaving' }] }),
      ['heddle apply FILE'],
    ],
    [
      'changed',
      status({
        nodes: [node('app-1'), { ...node('app-2'), drift: { seen: 'gone', why: 'it is gone', at } }],
      }),
      ['heddle apply FILE'],
    ],
    [
      'held by DELETE',
      held([node('app-1', { action: 'DELETE', kind: 'Auth' })], { kind: 'delete' }),
      ['heddle retry web', 'heddle abandon web app-1'],
    ],
  ])('for a cluster that is %s', (_title, shown, commands) => {
    expect(nextSteps(shown, Date.now()).map(({ command }) => command)).toEqual(commands);
  });
});

it('a held operation names the remedies of its failures before the command', () => {
  const failure = {
    action: 'CONFIRM',
    kind: 'Auth',
    remedy: 'correct `hostKey` of machine b1\u001b[2J',
  } as const;
  const shown = status({
    phase: 'held',
    operation: operation({ state: 'held' }),
    nodes: [node('app-1', failure), node('app-2', failure), node('app-3', { remedy: 'switch on b2' })],
  });
  const { output, lines } = record();
  printNext(output, nextSteps(shown, Date.now()));
  expect(lines.slice(1, 4)).toEqual([
    'next: correct `hostKey` of machine b1; switch on b2',
    expect.stringMatching(/^then: heddle retry web /),
    expect.stringMatching(/^or: {3}heddle replace web app-3 /),
  ]);
});

it('a remedy belongs to the first command that a lock does not refuse', () => {
  const lost = { seen: 'stopped', why: 'it is off' } as const;
  const shown = status({
    phase: 'held',
    locked: true,
    operation: operation({ state: 'held' }),
    nodes: [node('app-1', { lost, remedy: 'switch on b1' })],
  });
  const [first, ...others] = nextSteps(shown, Date.now());
  expect(first).toMatchObject({ command: 'heddle retry web', remedy: 'switch on b1' });
  expect(others.filter(({ remedy }) => remedy !== undefined)).toEqual([]);
});

it('a failure is shown with its remedy on one line', () => {
  const { output, lines } = record();
  const failed = node('app-1', { remedy: 'switch on\nb1\u001b[2J' });
  printFailures(output, status({ nodes: [failed] }), Date.now());
  expect(lines).toContainEqual(expect.stringMatching(/^ {2}remedy: switch on\W+b1$/));
});

describe('the end of an operation', () => {
  const end = (more: Partial<Operation>, shown: Partial<ClusterStatus> = {}): WaitResult => ({
    operation: operation({ state: 'done', endedAt: '2026-01-01T00:00:04Z', ...more }),
    status: status({ nodes: [node('app-1'), node('app-2')], ...shown }),
  });
  it.each<readonly [Partial<Operation>, string]>([
    [{}, 'web matches its file: 2 nodes, 3 tasks in 4.0 s'],
    [{ unchanged: true }, 'cluster web: no changes'],
    [{ kind: 'rollback', what: 'rollback' }, 'web matches its previous spec: 2 nodes, 3 tasks in 4.0 s'],
    [
      { kind: 'rollback', intent: { kind: 'rollback', revision: 3 }, what: 'rollback to revision 3' },
      'web matches revision 3: 2 nodes, 3 tasks in 4.0 s',
    ],
    [{ kind: 'restart', what: 'restart app' }, 'cluster web: restart app: 3 tasks in 4.0 s'],
    [{ kind: 'start', what: 'start app', unchanged: true }, 'cluster web: start app: nothing to do'],
    [{ kind: 'delete', what: 'delete' }, 'cluster web is deleted'],
  ])('%o reads "%s"', (more, text) => {
    const { output, lines } = record();
    expect(reportEnd(output, end(more))).toBe(0);
    expect(lines).toEqual([text]);
  });

  it('warns of leftovers although it is done', () => {
    const { output, notes } = record();
    reportEnd(
      output,
      end({ reason: 'went on without app-3: START failed', abandoned: ['app-4 aws i-1 (by ann)'] }),
    );
    expect(notes).toEqual([
      'warning: went on without app-3: START failed',
      'warning: abandoned without deletion: app-4 aws i-1 (by ann)',
    ]);
  });

  it('warns of drift after an apply, which probed the machines', () => {
    const warned = (more: Partial<Operation>, nodes: readonly NodeStatus[]): readonly string[] => {
      const { output, notes } = record();
      reportEnd(output, end({ unchanged: true, ...more }, { nodes }));
      return notes;
    };
    expect(warned({}, [off, node('app-2')])).toEqual([
      expect.stringMatching(
        /^warning: drift: app-1: machine m-1 should run, but lab reports that it is switched off \(checked \d+ d .* ago\); no action was taken$/,
      ),
    ]);
    expect(warned({ kind: 'start', what: 'start app' }, [off])).toEqual([]);
    expect(
      warned(
        {},
        Array.from({ length: 30 }, () => off),
      ).at(-1),
    ).toBe('warning: drift: and 25 more nodes; no action was taken');
  });

  it.each<readonly [Partial<Operation>, object]>([
    [
      { state: 'failed', kind: 'restart', what: 'restart app', reason: 'START of app on app-1 failed: no' },
      { code: 'Failed', message: 'restart app of web failed: START of app on app-1 failed: no' },
    ],
    [
      { state: 'cancelled', reason: 'cancelled by bob' },
      { code: 'Cancelled', message: 'operation 2 of web (apply) was cancelled by bob; completed work stays' },
    ],
    [
      { state: 'rejected', reason: 'no such node' },
      { code: 'Invalid', message: expect.stringContaining('no such node') },
    ],
    [{ state: 'superseded', reason: 'superseded by delete' }, { code: 'Refused' }],
    [{ state: 'held' }, { code: 'Held' }],
  ])('%o is an error', (more, error) => {
    expect(() => reportEnd(record().output, end(more))).toThrow(expect.objectContaining(error));
  });

  it('names the rollback that follows a failure', () => {
    const rollback = operation({ id: '3', kind: 'rollback', what: 'rollback' });
    expect(() => reportEnd(record().output, end({ state: 'failed' }, { operation: rollback }))).toThrow(
      expect.objectContaining({
        message: expect.stringContaining('operation 3 rolls it back'),
        next: 'heddle status web --watch',
      }),
    );
  });

  it('is a success if it was cancelled on request, unless it had ended before', () => {
    const cancelled = (more: Partial<Operation>): number =>
      showAnswer(record().output, { end: end(more) }, [], cancelShown);
    expect(cancelled({ state: 'cancelled' })).toBe(0);
    expect(cancelled({})).toBe(3);
  });

  it('is a failure if a machine of the cancelled operation could not be deleted, with the reason and the next command', () => {
    const { output, lines } = record();
    const left = [node('app-1', { action: 'DELETE', kind: 'Auth', message: 'the key is refused' })];
    const cancelled = { end: end({ state: 'cancelled' }, { nodes: left }) };
    expect(showAnswer(output, cancelled, [], cancelShown)).toBe(1);
    expect(lines.join('\n')).toMatch(
      /is cancelled[^]*app-1: DELETE failed[^]*the key is refused[^]*next: heddle apply FILE/,
    );
  });
});

describe('a history', () => {
  it('has a row for each operation with the reason of its end, no wider than the terminal', () => {
    const { output, lines } = record({ columns: 80 });
    printHistory(
      output,
      [
        operation({
          id: '3',
          what: `exec: ${'x'.repeat(100)}`,
          state: 'failed',
          reason: 'EXEC failed\nand more',
          endedAt: '2026-01-01T00:00:02Z',
        }),
        operation({
          id: '2',
          unchanged: true,
          state: 'done',
          endedAt: '2026-01-01T00:00:01Z',
          tasks: { total: 0, done: 0, failed: 0 },
        }),
      ],
      now,
    );
    expect(lines.every((line) => line.length < 80)).toBe(true);
    expect(lines[1]).toMatch(/^3 +failed +\S+ \S+ +2\.0 s +3\/4 +ann@host +exec: x+…$/);
    expect(lines[2]).toBe('    EXEC failed');
    expect(lines[3]).toMatch(/^2 +unchanged .* apply$/);
  });
});

describe('an obstacle', () => {
  const view = (more: Partial<ServerView>): ServerView => ({
    workflows: [],
    activities: [],
    queues: [{ queue: 'heddle', tasks: 'workflows', workers: 1 }],
    ...more,
  });
  const activity = (more: object): ServerView['activities'][number] => ({
    id: 'a',
    title: 'CONFIRM app-1',
    nodeId: 'app-1',
    state: 'under way',
    attempt: 3,
    since: '2026-01-01T00:00:00Z',
    ...more,
  });
  it('is absent while a machine is only being searched', () => {
    expect(
      findTroubles(
        view({ activities: [activity({ failure: { kind: 'NotReady', message: 'it boots' } })] }),
        now,
      ),
    ).toEqual([]);
  });

  it('is reported once for several nodes, with how to bring a missing key', () => {
    const failure = (id: string): object => ({
      title: `START app on ${id}`,
      nodeId: id,
      failure: { kind: 'Internal', message: `START app on ${id}: cannot decrypt: key k1 is not here` },
    });
    expect(
      findTroubles(view({ activities: [activity(failure('app-1')), activity(failure('app-2'))] }), now),
    ).toEqual([
      {
        text: 'START app on app-1 is being retried, attempt 3 after 1 m 00 s (and the same on 1 more): cannot decrypt: key k1 is not here (Internal)',
        gist: 'START app on app-1 is being retried (and the same on 1 more): cannot decrypt: key k1 is not here (Internal)',
        next: expect.objectContaining({ command: 'heddle keys import FILE' }),
      },
    ]);
  });

  it('names a queue without pollers, and what waits on it', () => {
    const waiting = activity({ state: 'waits for a worker', attempt: 1, queue: 'heddle.x' });
    expect(
      findTroubles(
        view({
          queues: [{ queue: 'heddle.x', tasks: 'activities', workers: 0 }],
          activities: [waiting, waiting],
        }),
        now,
      )[0]?.text,
    ).toBe(
      'queue heddle.x: no worker polls, so no worker of site x takes its tasks; CONFIRM app-1 and 1 more wait for it for 1 m 00 s',
    );
  });
});
