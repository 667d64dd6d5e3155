import { describe, expect, it } from 'vitest';
import { cleanJson, cleanLine, cleanText } from '../../src/cli/clean-text.js';
import { describeGates } from '../../src/cli/cluster/node-text.js';
import { drawPlan } from '../../src/cli/cluster/plan/graph.js';
import { describeCounts } from '../../src/cli/cluster/plan/plan-text.js';
import { renderProgress } from '../../src/cli/cluster/progress/progress-view.js';
import { cutTo, formatTable } from '../../src/cli/table.js';
import { formatDuration } from '../../src/cli/format.js';
import type { NodeStatus } from '../../src/schema/output/status.js';
import type { Plan } from '../../src/model/plan/plan.js';

describe('external text', () => {
  it('cannot move the cursor, colour, beep or change the direction of text', () => {
    expect(cleanText('a\u001b[2J\u001b[31m b\u0007\u009b5mc\u202ed\u0000e\n\tf')).toBe('a bcde\n\tf');
    expect(cleanText('\u001b]0;title\u0007x')).toBe('x');
    expect(cleanLine('one\ntwo\u2028three\r')).toBe('one two three');
    expect(cleanJson({ text: '\u009b2J\u202e\u001b' })).toBe(String.raw`{"text":"\u009b2J\u202e\u001b"}`);
  });

  it('shows a progress bar as a terminal shows it at the end', () => {
    expect(cleanText('start\r\n 5%\r 50%\r100%\ndone\r\n')).toBe('start\n100%\ndone\n');
  });
});

describe('texts of the command line', () => {
  it.each([
    [0, '0.0 s'],
    [340, '0.3 s'],
    [9_960, '10 s'],
    [59_400, '59 s'],
    [184_000, '3 m 04 s'],
    [3_720_000, '1 h 02 m'],
    [93_600_000, '1 d 02 h'],
  ])('%d ms is "%s"', (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });

  it('describes gates', () => {
    expect(describeGates(['START:db', 'CONFIRM:@app'])).toEqual(['db started', 'all app nodes confirmed']);
    expect(describeGates(['STOP:app', 'CONFIGURE:app', 'START:app', 'first/START:app'])).toEqual([
      'app stopped, configured and started',
      'app started on the nodes where it is down',
    ]);
    expect(describeGates(['down/STOP:db', 'drain/RELOAD:lb'])).toEqual([
      'db stopped on the nodes that are removed',
      'lb reloaded without the nodes of this batch',
    ]);
    expect(describeGates(['a place in a batch'])).toEqual(['a place in a batch']);
  });

  it('makes columns as wide as their widest cell, and cuts long cells', () => {
    expect(
      formatTable(
        ['A', 'B'],
        [
          ['one', 'x'],
          ['2', 'yyy'],
        ],
      ),
    ).toEqual(['A    B', 'one  x', '2    yyy']);
    expect(cutTo('abcdef', 4)).toBe('abc…');
    expect(cutTo('äöü', 3)).toBe('äöü');
  });
});

describe('the progress view', () => {
  const node = (nodenum: number, more: Partial<NodeStatus> = {}): NodeStatus => ({
    nodeId: `app-${nodenum}`,
    group: 'app',
    nodenum,
    hostname: `web-app-${nodenum}`,
    incarnation: 1,
    services: ['app'],
    running: [],
    state: 'ready',
    payload: {},
    ...more,
  });
  const operation = {
    id: '3',
    uid: 'abcdef012345',
    kind: 'apply',
    intent: { kind: 'apply' },
    what: 'apply',
    state: 'running',
    by: 'me',
    requestedAt: '2026-01-01T00:00:00Z',
    tasks: { total: 9, done: 4, failed: 1 },
  } as const;
  const render = (
    nodes: readonly NodeStatus[],
    size: { readonly columns: number; readonly rows: number },
  ): readonly string[] =>
    renderProgress(
      {
        name: 'web',
        uid: 'u',
        phase: 'applying',
        operation,
        queued: [],
        history: [],
        revisions: [],
        nodes,
        services: {},
        stopped: [],
        checks: { asked: 0, done: 0 },
      },
      operation,
      size,
      Date.parse('2026-01-01T00:00:12Z'),
    ).map(({ text }) => text);

  it('starts with the operation, its time and its counts, and has a row for each node', () => {
    const working = node(1, {
      state: 'working',
      current: { action: 'INSTALL', service: 'app', state: 'running', since: '2026-01-01T00:00:09Z' },
    });
    const waiting = node(2, {
      state: 'working',
      current: {
        action: 'START',
        service: 'app',
        state: 'waiting',
        gates: ['START:db', 'CONFIRM:@db'],
        since: '2026-01-01T00:00:10Z',
      },
    });
    expect(render([working, waiting], { columns: 120, rows: 20 })).toEqual([
      'web: apply (operation 3)  12 s  4 of 9 tasks done, 1 failed, 1 running',
      '  app-1  working  3.0 s  INSTALL app',
      '  app-2  working  2.0 s  START app waits for: db started and 1 more',
    ]);
  });

  it('fits the terminal, and keeps failed and working nodes visible', () => {
    const nodes = Array.from({ length: 50 }, (_, index) => node(index + 1));
    const failed = node(51, {
      state: 'failed',
      failure: {
        taskId: 't',
        action: 'START',
        service: 'app',
        kind: 'ScriptFailed',
        message: 'no',
        at: '2026-01-01T00:00:00Z',
      },
    });
    const lines = render([...nodes, failed], { columns: 40, rows: 10 });
    expect(lines.length).toBeLessThan(10);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(40);
    expect(lines[0]).toBe('web: apply (operation 3)  12 s');
    expect(lines[1]).toBe('  4 of 9 tasks done, 1 failed');
    expect(lines[2]).toContain('app-51');
    expect(lines.at(-1)).toMatch(/and 45 more nodes/);
  });
});

describe('a plan as text', () => {
  const plan: Plan = {
    gates: { 'START:db': 1 },
    placements: {},
    kinds: [
      {
        group: 'db',
        purpose: 'create',
        nodes: [[1, 1]],
        services: ['db'],
        chain: [{ action: 'CREATE' }, { action: 'START', service: 'db', counts: 'START:db' }],
      },
      {
        group: 'app',
        purpose: 'update',
        nodes: [
          [1, 2],
          [4, 4],
        ],
        services: ['app'],
        chain: [{ action: 'START', service: 'app', after: ['START:db'] }],
      },
    ],
  };

  it('counts nodes by their changes, and tasks', () => {
    expect(describeCounts({ plan, losses: { lost: [], released: [] } })).toBe(
      'Plan: 1 node to create, 3 to change; 5 tasks.',
    );
  });

  it('has an arrow for each dependency', () => {
    expect(drawPlan(plan, 'mermaid').split('\n')).toEqual([
      'flowchart LR',
      '  subgraph k0["+ db-1"]',
      '    k0s0["CREATE"]',
      '    k0s1["START db"]',
      '  end',
      '  subgraph k1["~ app-1, app-2, app-4"]',
      '    k1s0["START app"]',
      '  end',
      '  k0s0 --> k0s1',
      '  k0s1 -.-> k1s0',
    ]);
    expect(drawPlan(plan, 'dot')).toContain('k0s1 -> k1s0 [style=dashed];');
  });
});
