import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { automatorSuite, providerSuite, startMachineService } from '../../../src/testing/index.js';
import { openProxy, type ApiProxy } from '../../../src/testing/proxy.js';
import { writeFiles } from '../../harness/programs/bench.js';
import { caseFailure } from '../../harness/suites/case-failure.js';

// The templates of `heddle plugin new`, each with one fault, which the suite must detect.

const templates = join(import.meta.dirname, '../../../src/cli/plugin/templates');
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'heddle-planted-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A text of the template, and what is in its place. */
type Fault = readonly [right: string, wrong: string];

function plant(type: 'provider' | 'automator', faults: readonly Fault[]): void {
  const file = (ending: string): string =>
    readFileSync(join(templates, `${type}.${ending}.template`), 'utf8')
      .replaceAll('{{name}}', 'planted')
      .replaceAll('{{Class}}', 'Planted');
  let code = file('ts');
  for (const [right, wrong] of faults) {
    expect(code).toContain(right);
    code = code.replaceAll(right, wrong);
  }
  writeFiles(folder, {
    [`${type}s/planted/planted.json`]: file('json'),
    [`${type}s/planted/planted.ts`]: code,
  });
}

/** Machines take their time to go, so that a fault shows. */
const deleteDelayMs = 2_000;

/** `front` stands before the API, as a part of the cloud. */
function providerFailure(
  id: string,
  front?: (endpoint: string) => Promise<ApiProxy>,
): Promise<string | undefined> {
  return caseFailure(
    (runner) =>
      providerSuite(runner, {
        name: 'planted',
        folders: [folder],
        endpoint: 'endpoint',
        patienceMs: 20_000,
        open: async () => {
          const service = await startMachineService('directory', front === undefined ? deleteDelayMs : 20);
          const api = await front?.(service.endpoint);
          return {
            admin: { endpoint: api?.endpoint ?? service.endpoint, apiKey: service.apiKey },
            flavor: 'tiny',
            image: 'host',
            close: async () => {
              await api?.close();
              await service.close();
            },
          };
        },
      }),
    id,
  );
}

function automatorFailure(id: string): Promise<string | undefined> {
  return caseFailure(
    (runner) =>
      automatorSuite(runner, {
        name: 'planted',
        folders: [folder],
        script: (script, data) => ({ script, data }),
      }),
    id,
  );
}

const leaveProcess = `const { spawn } = await import('node:child_process');
    spawn('/usr/bin/env', ['-i', '/usr/bin/setsid', '/bin/sleep', '4711'], { stdio: 'ignore', cwd: '/', detached: true }).unref();`;

describe('the suite of providers detects a plugin', () => {
  test.each<readonly [string, string, readonly Fault[], string]>([
    [
      'whose find shows a machine that is being deleted as gone',
      'gone',
      [["deleting: 'deleting'", "deleting: 'gone'"]],
      'find shows no machine, or one that is gone, and DELETE says',
    ],
    [
      'whose DELETE ends as soon as it is accepted',
      'gone',
      [['if (status < 300) throw new PluginError(', 'if (status < 0) throw new PluginError(']],
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
      [["state: states[text(body, 'state')] ?? 'starting'", "state: 'starting'"]],
      "'starting'",
    ],
    [
      'whose list shows a running machine as stopped',
      'list',
      [
        [
          'return machines.map(machineOf);',
          "return machines.map((one) => ({ ...machineOf(one), state: 'stopped' }));",
        ],
      ],
      'waited',
    ],
    [
      'that ignores its signal',
      'cancel',
      [['method, signal: this.signal,', 'method,']],
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
          "'ssh-host-key': text(body, 'hostKey'),",
          "'ssh-host-key': text(body, 'hostKey'), note: `with ${String(this.fields['apiKey'])}`,",
        ],
      ],
      'note, which holds a secret of the account',
    ],
  ])('%s', async (_what, id, faults, message) => {
    plant('provider', faults);
    expect(await providerFailure(id)).toContain(message);
  });
});

describe('the suite of automators detects a plugin', () => {
  test.each<readonly [string, string, readonly Fault[], string]>([
    [
      'that leaves a process with an empty environment behind',
      'drain',
      [
        [
          '  override async bootstrap(_sshAuth: SshAuth): Promise<void> {',
          `  override async bootstrap(_sshAuth: SshAuth): Promise<void> {\n    ${leaveProcess}`,
        ],
      ],
      'plugin planted left ',
    ],
    [
      'that cannot be ended but by force',
      'cancel',
      [
        [
          'environment: { NODE_NAME: nodeId } });',
          "environment: (process.on('SIGTERM', () => undefined), { NODE_NAME: nodeId }) }).catch(() => new Promise<never>(() => undefined));",
        ],
      ],
      'the plugin ignores its signal and SIGTERM',
    ],
  ])('%s', async (_what, id, faults, message) => {
    plant('automator', faults);
    expect(await automatorFailure(id)).toContain(message);
  });
});

describe('the suite of providers passes a plugin whose cloud', () => {
  const cases = ['life', 'repetition', 'absent', 'gone', 'find', 'created', 'list', 'lost-create', 'cancel'];

  test.each(cases)('answers 429 or 502 now and then, case %s', async (id) => {
    plant('provider', []);
    const failure = await providerFailure(id, async (endpoint) => {
      const cloud = await openProxy(endpoint);
      cloud.set(({ number }) =>
        number % 4 === 0 ? { kind: 'answer', status: number % 8 === 0 ? 502 : 429, body: '{}' } : undefined,
      );
      return cloud;
    });
    expect(failure).toBeUndefined();
  });
});
