import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openMachine } from '../../../src/testing/cuttable-node.js';
import { createAutomatorSuite } from '../../../src/testing/automator-suite.js';
import { writeFiles } from '../../harness/programs/bench.js';
import { caseFailure } from '../../harness/suites/case-failure.js';
import { automatorFailure, type Change } from '../../harness/suites/planted.js';
import { unable } from '../../harness/reservation/real-machine.js';
import { newFolder } from '../../harness/folder.js';

// Automators with one fault each, which the suite must detect.

type Fault = readonly [what: string, id: string, changes: readonly Change[], message: string];

const bootstrap = '  override async bootstrap(_sshAuth: SshAuth): Promise<void> {';
const run = '{ text, stdin, environment: { NODE_NAME: nodeId } }';
const made = `const { exitCode, stderr } = await this.shell.exec(['sh', '-c', 'mkdir -p "$HOME/.planted"'])`;
const failed =
  "throw new PluginError('ScriptFailed', `the script ended with exit code ${exitCode}: ${last}`, { exitCode, stdout, stderr })";
const lost =
  ".catch((error) => { throw error.kind === 'Retryable' ? new PluginError('Invalid', 'it does not answer') : error; })";
const leaveProcess = `const { spawn } = await import('node:child_process');
    spawn('/usr/bin/env', ['-i', '/usr/bin/setsid', '/bin/sleep', '4711'], { stdio: 'ignore', cwd: '/', detached: true }).unref();`;

describe('the suite of automators detects a plugin', () => {
  test.concurrent.each<Fault>([
    [
      'that prepares a node only once',
      'bootstrap',
      [['mkdir -p', 'mkdir']],
      'the folder of planted cannot be created',
    ],
    [
      'that returns another result for a prepared node',
      'bootstrap',
      [
        [
          '{ exitCode });\n  }\n\n  override install',
          '{ exitCode });\n    return { result: { at: Date.now() } };\n  }\n\n  override install',
        ],
      ],
      'deep-equal',
    ],
    [
      'that leaves an action out',
      'actions',
      [
        [
          'override remove(_sshAuth: SshAuth, script: string, data: string): Promise<TaskResult> {',
          'override async remove(_sshAuth: SshAuth, script: string, data: string): Promise<TaskResult> {\n    return {};',
        ],
      ],
      "'REMOVE'",
    ],
    ['that changes the data', 'data', [[run, run.replace('stdin,', "stdin: stdin.replace('€', '?'),")]], '€'],
    [
      'that strips the data',
      'data',
      [[run, run.replace('stdin,', 'stdin: stdin.trim(),')]],
      'strictly equal',
    ],
    [
      'that empties the home of its user',
      'bootstrap',
      [['mkdir -p', 'find "$HOME" -mindepth 1 -maxdepth 1 ! -name .heddle -exec rm -rf {} + ; mkdir -p']],
      'BOOTSTRAP changes files of others',
    ],
    [
      'that appends to a file each time',
      'bootstrap',
      [['mkdir -p', 'echo line >> "$HOME/.profile"; mkdir -p']],
      'BOOTSTRAP of a prepared node changes files',
    ],
    [
      'that drops results',
      'results',
      [['return results === undefined ? {} : { result: results };', 'return {};']],
      'the results are {}',
    ],
    [
      'that runs a script again in the next attempt',
      'once',
      [[run, run.replace('text,', 'text, name: `attempt-${this.task.attempt}`,')]],
      "'ran'",
    ],
    [
      'that reports a failing script as done',
      'failing',
      [['if (exitCode !== 0) {\n      const last', 'if (exitCode > 255) {\n      const last']],
      'fail',
    ],
    [
      'that reports a failing script as a lost connection',
      'failing',
      [[failed, failed.replace("'ScriptFailed'", "'Retryable'")]],
      'Retryable',
    ],
    [
      'that does not report the exit code',
      'failing',
      [[failed, "throw new PluginError('ScriptFailed', 'the script failed')"]],
      'the exit code is missing',
    ],
    [
      'that starts a script again after a lost connection',
      'lost-connection',
      [[run, run.replace('text,', 'text, name: `attempt-${this.task.attempt}`,')]],
      "'begins'",
    ],
    [
      'that fails permanently when the connection is lost',
      'lost-connection',
      [[`this.shell.run(${run});`, `this.shell.exec(['sh', '-c', text], { stdin })${lost};`]],
      'a lost connection fails the task permanently',
    ],
    [
      'that cannot be ended but by force',
      'cancel',
      [
        [
          `${run});`,
          "{ text, stdin, environment: (process.on('SIGTERM', () => undefined), { NODE_NAME: nodeId }) }).catch(() => new Promise<never>(() => undefined));",
        ],
      ],
      'the plugin ignores its signal and SIGTERM',
    ],
    [
      'whose scripts outlive their cancellation',
      'cancel',
      [[`${run});`, '{ text: \'setsid sh -c "$TEXT" & wait\', environment: { TEXT: text } });']],
      'waited',
    ],
    [
      'that fails permanently for a node that does not answer',
      'unreachable',
      [[`${made};`, `${made}${lost};`]],
      'Invalid',
    ],
    [
      'that expects text as output',
      'garbage',
      [
        [
          'if (exitCode !== 0) {\n      const last',
          "if (exitCode !== 0 || stdout.includes('\\uFFFD')) {\n      const last",
        ],
      ],
      'the script ended with exit code 0',
    ],
    [
      'that logs a part of a secret',
      'redaction',
      [['this.log.debug(`${taskName}', 'this.log.debug(`${stdin.slice(0, -1)} ${taskName}']],
      'the output holds a secret',
    ],
    [
      'that leaves a process with an empty environment behind',
      'drain',
      [[bootstrap, `${bootstrap}\n    ${leaveProcess}`]],
      'plugin planted left ',
    ],
    [
      'with methods that its suite does not test',
      'tried',
      [[bootstrap, `  async preReload() { return { answer: 'done' }; }\n\n${bootstrap}`]],
      'system: true belongs to the options',
    ],
    [
      'that creates accounts and cannot remove them',
      'tried',
      [[bootstrap, `  async grantAccess() { return { answer: 'done' }; }\n\n${bootstrap}`]],
      'an automator has both methods',
    ],
    [
      'that requires no field',
      'missing-fields',
      [['"user": [["script"]]', '"user": []']],
      'its descriptor requires no field',
    ],
  ])('%s', async (_what, id, changes, message) => {
    expect(await automatorFailure(changes, id)).toContain(message);
  });
});

test.concurrent('the suite of automators passes a plugin whose BOOTSTRAP has nothing to do', async () => {
  const nothing: Change = [`${made};`, "const [exitCode, stderr] = [0, ''];"];
  expect(await automatorFailure([nothing], ['bootstrap', 'unreachable'])).toBeUndefined();
});

/** The methods for loading and capturing. */
const system: Change = [
  bootstrap,
  `  async #done(line) {
    const { exitCode, stderr } = await this.shell.exec(['sh', '-c', line]);
    return exitCode === 0 ? { answer: 'done' } : { answer: 'not done', why: stderr };
  }
  async preCapture() { return this.#done('rm -f "$HOME/.history"'); }
  async postLoad() { return this.#done('touch "$HOME/loaded"'); }
  async preReload() { return this.#done('sync'); }
  async sanitize({ resetNode }) {
    const reset = await resetNode();
    return reset.answer === 'done' ? this.#done('rm -f "$HOME/.history"') : reset;
  }
  async checkImage() { return { is: 'yes' }; }

${bootstrap}`,
];

describe('the suite of automators with methods for loading and capturing', () => {
  test.concurrent('passes one without a fault', async () => {
    const ids = ['system', 'system-reset', 'tried'];
    expect(await automatorFailure([system], ids, { system: true })).toBeUndefined();
  });

  test.concurrent.each<Fault>([
    [
      'whose verb fails when it is repeated',
      'system',
      [['\'touch "$HOME/loaded"\'', '\'mkdir "$HOME/loaded"\'']],
      'postLoad, call 2',
    ],
    [
      'whose verb is never done',
      'system',
      [["return this.#done('sync')", "return { answer: 'unknown' }"]],
      'preReload, call 1',
    ],
    [
      'that finds changes in an unchanged system',
      'system',
      [["is: 'yes'", "is: 'no'"]],
      'checkImage, call 1',
    ],
    [
      'that does not know its own image',
      'system',
      [["return { is: 'yes' }", "return { is: 'unknown' }"]],
      'checkImage, call 1',
    ],
    [
      'that leaves the node unusable',
      'system',
      [["'sync'", '\'rm -rf "$HOME/.planted"; touch "$HOME/.planted"\'']],
      'the folder of planted cannot be created',
    ],
    [
      'that resets a machine again when a reset fails',
      'system-reset',
      [['await resetNode();', "await resetNode();\n    if (reset.answer !== 'done') await resetNode();"]],
      'sanitize asked for 2 resets',
    ],
    [
      'that is done although the reset failed',
      'system-reset',
      [["reset.answer === 'done' ?", "reset.answer !== '' ?"]],
      'sanitize after a reset that failed',
    ],
  ])('detects one %s', async (_what, id, changes, message) => {
    expect(await automatorFailure([system, ...changes], id, { system: true })).toContain(message);
  });
});

const access = join(import.meta.dirname, '../../../dist/plugins/automators/linux/access.js');
/** Accounts as those of the automator linux. */
const accounts: Change = [
  bootstrap,
  `  async #linux() { return import(${JSON.stringify(access)}); }
  async grantAccess(input) { return (await this.#linux()).grantAccess(this.shell, input, false); }
  async revokeAccess(input) { return (await this.#linux()).revokeAccess(this.shell, input); }

${bootstrap}`,
];
const grant = 'return (await this.#linux()).grantAccess(this.shell, input, false);';
const revoke = 'return (await this.#linux()).revokeAccess(this.shell, input);';

describe.skipIf(unable !== undefined)('the suite of automators with accounts', () => {
  const failure = (changes: readonly Change[]): Promise<string | undefined> => {
    return automatorFailure([accounts, ...changes], 'access', {
      accounts: true,
      open: () => openMachine('sandbox'),
    });
  };

  test.concurrent('passes one without a fault', async () => {
    expect(await failure([])).toBeUndefined();
  });

  test.concurrent.each<readonly [string, readonly Change[], string]>([
    ['that gives no account', [[grant, "return { answer: 'done', accounts: 'a'.repeat(64) };"]], "'refused'"],
    [
      'that adds a credential to the account of before',
      [
        [
          grant,
          `const { exitCode } = await this.shell.exec(['id', input.login]);
    if (exitCode !== 0) { ${grant} }
    return { answer: 'done', accounts: (await (await this.#linux()).grantAccess(this.shell, { ...input, renewed: true }, false)).accounts };`,
        ],
      ],
      'the first credential still lets the user in',
    ],
    [
      'that changes other accounts',
      [
        [
          grant,
          `await this.shell.exec(['sh', '-c', 'PATH=$PATH:/usr/sbin useradd "other-$$"']);
    ${grant}`,
        ],
      ],
      "the machine's own accounts are not those of before",
    ],
    [
      'that removes no account',
      [
        [
          revoke,
          "const found = await (await this.#linux()).grantAccess(this.shell, { ...input, renewed: true, until: '2099-01-01T00:00:00Z' }, false); return found;",
        ],
      ],
      'the credential still lets the user in',
    ],
    [
      'that leaves processes and files of the user',
      [
        [
          revoke,
          `await this.shell.exec(['sh', '-c', 'mkdir -p /home/hd-left']);
    ${revoke}`,
        ],
      ],
      'hd-left',
    ],
  ])('detects one %s', async (_what, changes, message) => {
    expect(await failure(changes)).toContain(message);
  });
});

/** A program that puts its data into a request without the escapes of JSON. */
const program = `#!/usr/bin/env python3
import json, sys
task = json.loads(sys.stdin.readline())
if task["call"] != "bootstrap":
    print('{"id": 1, "request": "run", "text": "%s", "stdin": "%s"}' % (task["input"]["script"], task["input"]["data"]), flush=True)
    sys.stdin.readline()
print('{"status": 0}')
`;

test('the suite of automators shows the line of a program that makes a broken request', async () => {
  const folder = newFolder();
  try {
    writeFiles(folder, {
      'automators/planted/planted.py': program,
      'automators/planted/planted.json': {
        name: 'planted',
        type: 'automator',
        version: '1.0.0',
        description: 'makes broken requests',
        prepares: 'users',
        command: ['./planted.py'],
        requests: ['run'],
        fields: {
          user: { script: { title: 'Script', type: 'text' }, data: { title: 'Data', type: 'text' } },
        },
      },
    });
    const options = {
      name: 'planted',
      folders: [folder],
      script: (script: string, data: string) => ({ script, data }),
    };
    const failure = await caseFailure(createAutomatorSuite(options), 'data');
    expect(failure).toMatch(
      /plugin planted returned no valid result: its program printed a line that is neither a request .* \(not JSON: .* at position \d+, near .*\): "\{\\"id\\": 1/,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
