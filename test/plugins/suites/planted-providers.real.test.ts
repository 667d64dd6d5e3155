import { describe, expect, test } from 'vitest';
import { openProxy } from '../../../src/testing/proxy.js';
import { providerFailure, type Change } from '../../harness/suites/planted.js';

// Plugins with one fault each, which the suite must detect.

const leaveProcess = `const { spawn } = await import('node:child_process');
    spawn('/usr/bin/env', ['-i', '/usr/bin/setsid', '/bin/sleep', '4711'], { stdio: 'ignore', cwd: '/', detached: true }).unref();`;

describe('the suite of providers detects a plugin', () => {
  test.concurrent.each<readonly [string, string, readonly Change[], string]>([
    [
      'whose find shows a machine that is being deleted as gone',
      'gone',
      [[', state, address:', ", state: state === 'deleting' ? 'gone' : state, address:"]],
      'find shows no machine, or one that is gone, and DELETE says',
    ],
    [
      'whose DELETE ends as soon as it is accepted',
      'gone',
      [['if (status < 300) throw notReady(', 'if (status < 0) throw notReady(']],
      'DELETE succeeded, and find shows the machine',
    ],
    [
      'whose DELETE does nothing, and that cannot find machines',
      'gone',
      [
        ['async find(key: string)', 'async search(key: string)'],
        [
          'override async delete({ providerid, key }: MachineInput): Promise<void> {',
          'override async delete({ providerid, key }: MachineInput): Promise<void> {\n    return;',
        ],
      ],
      'DELETE succeeded, and the machine still answers over SSH',
    ],
    [
      'that shows every machine as starting',
      'find',
      [
        [
          'return found.map(machineOf);',
          "return found.map((one) => ({ ...machineOf(one), state: 'starting' }));",
        ],
      ],
      "'starting'",
    ],
    [
      'whose list shows a running machine as stopped',
      'list',
      [
        [
          "return this.#machines(Object.entries(tags).map(([name, value]) => ['tag', `${name}=${value}`]));",
          "return (await this.#machines(Object.entries(tags).map(([name, value]) => ['tag', `${name}=${value}`]))).map((one) => ({ ...one, state: 'stopped' }));",
        ],
      ],
      'waited',
    ],
    [
      'whose list reads one page',
      'list-pages',
      [["(typeof next === 'string' ? path(['page', next]) : undefined)", 'undefined']],
      'list shows 2 of 3 machines',
    ],
    [
      'that ignores its signal',
      'cancel',
      [['signal, calls, kinds });', 'signal: new AbortController().signal, calls, kinds });']],
      'the class ignores its signal: pass this.signal to what it waits for',
    ],
    [
      'that leaves a process with an empty environment behind',
      'drain',
      [
        [
          '  override async confirm({ providerid, key }: MachineInput): Promise<TaskResult> {',
          `  override async confirm({ providerid, key }: MachineInput): Promise<TaskResult> {\n    ${leaveProcess}`,
        ],
      ],
      'plugin planted left ',
    ],
    [
      'whose result holds a secret of its account',
      'life',
      [
        [
          "'ssh-host-key': textIn(body, 'hostKey'),",
          "'ssh-host-key': textIn(body, 'hostKey'), note: `with ${String(this.fields['apiKey'])}`,",
        ],
      ],
      'note, which contains a secret of the account',
    ],
  ])('%s', async (_what, id, faults, message) => {
    expect(await providerFailure(faults, id)).toContain(message);
  });
});

const early: Change = ['requireRunning({ what', 'if (status === 410) requireRunning({ what'];
const running: Change = ["?? 'starting'", "?? 'running'"];

describe('the suite of providers, with a cloud whose machines boot at once, detects a plugin', () => {
  test.concurrent.each<readonly [string, readonly Change[], string]>([
    ['that shows a machine as running before it is', [running], 'find does not show the state'],
    ['that confirms a machine before it is running', [early], 'that find does not show as running'],
    ['that does both', [early, running], 'find does not show the state'],
  ])('%s', async (_what, faults, message) => {
    expect(await providerFailure(faults, 'states')).toContain(message);
  });

  test.concurrent('without a fault not', async () => {
    expect(await providerFailure([], 'states')).toBeUndefined();
  });

  test.concurrent('only if it may have a machine never boot', async () => {
    expect(await providerFailure([], 'states', { stalls: false })).toContain(
      'the machine ran at once, so that no state before was compared',
    );
  });
});

describe('the suite of providers passes a plugin whose cloud', () => {
  test.concurrent.each(['life', 'gone', 'other-key', 'find', 'created', 'list'])(
    'lists new machines late, within the window that it declares, case %s',
    async (id) => {
      const declared: Change = ['"consistencyWindowMs": 0', '"consistencyWindowMs": 1500'];
      expect(await providerFailure([declared], id, { listLagMs: 1_000 })).toBeUndefined();
    },
  );

  const cases = ['life', 'repetition', 'absent', 'gone', 'find', 'created', 'list', 'lost-create', 'cancel'];

  test.concurrent.each(cases)('answers 429 or 502 now and then, case %s', async (id) => {
    const failure = await providerFailure([], id, {
      front: async (endpoint) => {
        const cloud = await openProxy(endpoint);
        cloud.set(({ number }) =>
          number % 4 === 0 ? { kind: 'answer', status: number % 8 === 0 ? 502 : 429, body: '{}' } : undefined,
        );
        return cloud;
      },
    });
    expect(failure).toBeUndefined();
  });
});
