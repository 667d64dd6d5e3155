import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRateLimiter } from '../../../src/activities/provider/rate-limiter.js';
import type { TaskRequest } from '../../../src/model/node/task-request.js';
import type { Claims } from '../../../src/plugins/contract.js';
import { secret } from '../../harness/activities/parts.js';
import { startNode, type TestNode } from '../../harness/ssh-server.js';
import { until } from '../../harness/until.js';
import {
  failureOf,
  openPrograms,
  providerDescriptor,
  type ProgramBench,
  type RunOptions,
} from '../../harness/programs/bench.js';

/** A program that sends what its script says, line by line, and puts the answers into its result. */
const provider = `#!/usr/bin/env python3
import json, os, sys
task = json.loads(sys.stdin.readline())
asked, answers = json.loads(task["provider"]["fields"]["how"]), []
for number, request in enumerate(asked, 1):
    print(json.dumps({"id": number, **request}), flush=True)
    answers.append(json.loads(sys.stdin.readline()))
print(json.dumps({"status": 0, "result": {"providerid": "m", "answers": answers}}))
`;

/** An automator that runs the script, and tells what it was told when its task was cancelled. */
const automator = `#!/usr/bin/env python3
import json, sys
task = json.loads(sys.stdin.readline())
if task["call"] == "bootstrap":
    print('{"status": 0}')
    sys.exit()
print(json.dumps({"id": 1, "request": "run", "text": task["input"]["script"], "stdin": task["input"]["data"]}), flush=True)
answer = json.loads(sys.stdin.readline())
if "cancel" in answer:
    print("heard: " + answer["cancel"], file=sys.stderr, flush=True)
    answer = json.loads(sys.stdin.readline())
    print("then: " + answer["error"]["message"], file=sys.stderr, flush=True)
    print('{"status": 1}')
else:
    print(json.dumps({"id": 2, "request": "exec", "command": ["sh", "-c", "cat; echo two words"], "stdin": "in "}), flush=True)
    second = json.loads(sys.stdin.readline())
    print(json.dumps({"id": 3, "request": "putFile", "path": task["input"]["data"], "content": "put there", "mode": 384}), flush=True)
    third = json.loads(sys.stdin.readline())
    print(json.dumps({"status": 0, "result": {"run": answer["result"], "exec": second["result"], "file": third["result"]}}))
`;

const typed = `
import { Automator, PluginError, type SshAuth, type TaskResult } from 'heddle/plugin';
import { greeting } from './greeting.js';

enum Mood { Good = 'good' }

export class Typed extends Automator {
  override async bootstrap(_auth: SshAuth): Promise<void> { await this.shell.exec(['true']); }
  override async install(_auth: SshAuth, script: string, data: string): Promise<TaskResult> {
    const outcome = await this.shell.run({ text: script, stdin: data });
    if (outcome.exitCode !== 0) throw new PluginError('ScriptFailed', 'it ended with ' + outcome.exitCode, { exitCode: outcome.exitCode });
    const many = await Promise.all(Array.from({ length: 40 }, (_, index) => this.shell.exec(['echo', String(index)])));
    await this.shell.putFile(data, Buffer.from([0, 255, 10]));
    return { result: { mood: Mood.Good, greeting, sum: many.reduce((sum, { stdout }) => sum + Number(stdout), 0) } };
  }
  override async configure(): Promise<void> {}
  override async init(): Promise<void> {}
  override async start(): Promise<void> { await new Promise((_, reject) => this.signal.addEventListener('abort', () => reject(new Error('I was told')))); }
  override async stop(): Promise<void> {}
  override async remove(): Promise<void> {}
}
`;

let node: TestNode;
let bench: ProgramBench;
const taken: string[] = [];
const claims: Claims = {
  take: (key, candidates) => {
    taken.push(key);
    return Promise.resolve(candidates[0]);
  },
  release: () => Promise.resolve(),
  held: () => Promise.resolve(Object.fromEntries(taken.map((key) => ['m', key]))),
};

let called = 0;
const rateLimiter = createRateLimiter({
  account: 'p',
  perSecond: 1_000,
  slots: {
    take: ({ count }) => {
      called += count;
      return Promise.resolve(0);
    },
  },
});

beforeAll(async () => {
  node = await startNode();
  const automatorOf = (name: string, more: object) => ({
    name,
    type: 'automator',
    version: '1.0.0',
    description: name,
    prepares: 'users',
    ...more,
  });
  bench = await openPrograms(
    {
      'providers/p/p.py': provider,
      'providers/p/p.json': providerDescriptor({
        command: ['./p.py'],
        requests: ['secret', 'run', 'claims.take', 'claims.held', 'calls.take'],
      }),
      'automators/a/a.py': automator,
      'automators/a/a.json': automatorOf('a', { command: ['./a.py'], requests: ['run', 'exec', 'putFile'] }),
      'automators/typed/typed.ts': typed,
      'automators/typed/greeting.ts': "export const greeting: string = 'hello';\n",
      'automators/typed/typed.json': automatorOf('typed', { entry: './typed.ts', class: 'Typed' }),
    },
    {
      changes: {
        claims: () => claims,
        rateLimiters: (account) => (account === 'p' ? rateLimiter : undefined),
      },
    },
  );
});
afterAll(async () => {
  await bench.close();
  await node.close();
});

async function ask(requests: readonly object[], options: RunOptions = {}): Promise<readonly unknown[]> {
  const { result } = await bench.run('CREATE', JSON.stringify(requests), options);
  return result?.['answers'] as readonly unknown[];
}

function serviceTask(
  type: string,
  fields: { readonly script: string; readonly data: string },
  id: string,
): Partial<TaskRequest> {
  const { host, port, user, password = '', hostKey } = node.target;
  return {
    taskId: `u/app-1#1/app/START/${id}`,
    provider: { name: 'p', type: 'p', fields: {} },
    config: { ipaddress: host, 'ssh-port': port, 'ssh-auth': { user, password }, 'ssh-host-key': hostKey },
    service: { name: 'app', action: { type, fields } },
  };
}

describe('a program that makes requests', () => {
  it('gets secrets that its task names, and no others', async () => {
    const own = { secret: 'env:TOKEN' };
    const answers = await ask(
      [
        { request: 'secret', reference: 'env:TOKEN' },
        { request: 'secret', reference: 'env:OTHER' },
      ],
      {
        more: {
          provider: {
            name: 'p',
            type: 'p',
            fields: {
              how: JSON.stringify([
                { request: 'secret', reference: 'env:TOKEN' },
                { request: 'secret', reference: 'env:OTHER' },
              ]),
            },
          },
          cluster: { token: own },
        },
      },
    );
    expect(answers).toMatchObject([
      { id: 1, result: secret },
      {
        id: 2,
        error: { kind: 'Auth', message: expect.stringContaining('the task does not contain this reference') },
      },
    ]);
  });

  it("gets claims if the task is a provider's, and no shell", async () => {
    const answers = await ask([
      { request: 'claims.take', key: 'k', candidates: ['m'] },
      { request: 'claims.held' },
      { request: 'run', text: 'true' },
    ]);
    expect(answers).toMatchObject([
      { result: 'm' },
      { result: { m: 'k' } },
      { error: { kind: 'Invalid', message: expect.stringContaining('cannot be served in this task') } },
    ]);
  });

  it('gets a permit for each call if the account has a limit', async () => {
    const before = called;
    expect(
      await ask([{ request: 'calls.take' }, { request: 'calls.take' }, { request: 'calls.take' }]),
    ).toMatchObject([{ result: null }, { result: null }, { result: null }]);
    // The first was waited for before the program was started.
    expect(called - before).toBeGreaterThanOrEqual(3);
  });

  it.each([
    [{ request: 'exec', command: ['true'] }, 'request exec is not declared; add it to "requests"'],
    [{ request: 'fly' }, 'request "fly" is unknown; known requests: run, exec'],
    [{ request: 'claims.take', key: 5 }, 'request claims.take: key: '],
    [{ request: 'claims.take', key: 'k', candidates: [], more: 1 }, 'request claims.take: '],
  ])('%o is answered with an error', async (request, words) => {
    expect(await ask([request])).toMatchObject([
      { id: 1, error: { kind: 'Invalid', message: expect.stringContaining(words) } },
    ]);
  });
});

describe('an automator as a program', () => {
  it('executes scripts and commands on the node, and writes files there', async () => {
    const file = join(node.home, 'put');
    const { result } = await bench.run('INSTALL', '', {
      more: serviceTask(
        'a',
        { script: 'cat; echo " was read"; echo "answer=42" >>"$HEDDLE_RESULT"', data: file },
        'one',
      ),
    });
    expect(result).toEqual({
      run: { exitCode: 0, stdout: `${file} was read\n`, stderr: '', results: { answer: '42' } },
      exec: { exitCode: 0, stdout: 'in two words\n', stderr: '' },
      file: null,
    });
    expect(await readFile(file, 'utf8')).toBe('put there');
  });

  it('is notified that its task was cancelled, after the script was ended', async () => {
    const begun = join(node.home, 'begun');
    const more = serviceTask('a', { script: `touch '${begun}'; sleep 1000`, data: '' }, 'two');
    const running = bench.run('START', '', {
      more,
      onStart: (cancel) =>
        void until('the script runs', () =>
          readFile(begun).then(
            () => true,
            () => false,
          ),
        ).then(cancel),
    });
    await expect(running).rejects.toMatchObject({ name: 'CancelledFailure' });
    expect(bench.logged.join('\n')).toContain('heard: ');
  });

  it('does not hang while its script runs: the attempt is retried', async () => {
    const more = serviceTask('a', { script: 'sleep 1000', data: '' }, 'six');
    const failure = await failureOf(bench.run('START', '', { more, timeMs: 5_000 }));
    expect(failure).toMatchObject({
      type: 'Retryable',
      nonRetryable: false,
      message: expect.stringContaining('plugin a was still waiting for a request to the engine'),
    });
  });
});

describe('a class in TypeScript, without a build step', () => {
  it('is loaded with its imports, and has the shell of the contract', async () => {
    const file = join(node.home, 'bytes');
    const { result } = await bench.run('INSTALL', '', {
      more: serviceTask('typed', { script: 'cat', data: file }, 'three'),
    });
    expect(result).toEqual({ mood: 'good', greeting: 'hello', sum: 780 });
    expect([...(await readFile(file))]).toEqual([0, 255, 10]);
    expect(
      await failureOf(
        bench.run('INSTALL', '', { more: serviceTask('typed', { script: 'exit 9', data: '' }, 'four') }),
      ),
    ).toMatchObject({
      type: 'ScriptFailed',
      message: 'INSTALL app on app-1: it ended with 9',
      details: [expect.objectContaining({ exitCode: 9 })],
    });
  });

  it("is notified by its signal at the end of the attempt's time", async () => {
    const failure = await failureOf(
      bench.run('START', '', {
        timeMs: 2_000,
        more: serviceTask('typed', { script: 'true', data: '' }, 'five'),
      }),
    );
    expect(failure).toMatchObject({ type: 'Internal', message: 'START app on app-1: I was told' });
  });
});
