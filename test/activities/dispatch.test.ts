import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ApplicationFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { beginAttempt } from '../../src/activities/attempt.js';
import { noTaskLog } from '../../src/activities/task-log.js';
import type { FailureDetails } from '../../src/model/node/failure.js';
import { failureKinds } from '../../src/plugins/errors.js';
import { startNode } from '../harness/ssh-server.js';
import { type Bench, openBench, request, secret } from '../harness/activities/parts.js';

/** What CREATE of the plugin does, by the field `how`. */
const code = `
  async create() {
    const { how, token } = this.fields;
    const big = 'x'.repeat(10 * 1024 * 1024);
    switch (how) {
      case 'good': return { result: { providerid: 'm-1', 'ssh-auth': { user: 'root' } } };
      case 'error': throw new Error('boom');
      case 'string': throw 'boom';
      case 'nothing': throw undefined;
      case 'number': return 5;
      case 'list': return [];
      case 'class': return new Map();
      case 'bigint': return { result: { providerid: 'm', size: 5n } };
      case 'unknown key': return { state: 0, result: { providerid: 'm' } };
      case 'word status': return { status: 'ok', result: { providerid: 'm' } };
      case 'status 7': return { status: 7, stdout: 'out', stderr: 'err', result: { providerid: 'm-7', hint: 'x' } };
      case 'reserved': return { result: { providerid: 'm', flavor: 'mine', nodes: {} } };
      case '10 MB': return { result: { providerid: 'm', blob: big } };
      case 'full': return { result: { providerid: 'm', blob: 'x'.repeat(7000) } };
      case 'no id': return { result: { ipaddress: '127.0.0.1' } };
      case 'empty': return;
      case 'blank id': return { result: { providerid: ' ' } };
      case 'leak': throw new PluginError('Quota', 'call with ' + token + ' refused', { cause: new Error('token ' + token), stderr: 'sent ' + token });
      case 'hang': await new Promise((_, reject) => this.signal.addEventListener('abort', () => reject(this.signal.reason)));
      default: throw new PluginError(how, 'as asked', { retryAfterMs: 2000, exitCode: 3, result: { providerid: 'm-9', other: 1 } });
    }
  }
  async confirm() {
    switch (this.fields.how) {
      case 'no address': return { result: {} };
      case 'any address': return { result: { ipaddress: '0.0.0.0' } };
      case 'no user': return { result: { ipaddress: '127.0.0.1' } };
      case 'closed': return { result: { ipaddress: '127.0.0.1', 'ssh-port': 1, 'ssh-auth': { user: 'me', agent: '/nowhere' } } };
    }
  }
  async delete() { return { status: 1, stderr: 'still there' }; }
`;

let bench: Bench;
beforeAll(async () => {
  bench = await openBench(code, {}, { callDeadlineMs: 200 });
});
afterAll(() => bench.close());

async function failureOf(
  attempt: Promise<unknown>,
): Promise<ApplicationFailure & { readonly first: FailureDetails }> {
  const error: unknown = await attempt.then(
    () => new Error('it did not fail'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof ApplicationFailure)) throw error;
  return Object.assign(error, { first: error.details?.[0] as FailureDetails });
}

describe('what a plugin throws', () => {
  it.each(failureKinds)(
    '%s becomes a failure of that type; only transient errors are retried',
    async (kind) => {
      const failure = await failureOf(bench.run('CREATE', request({ how: kind })));
      expect(failure).toMatchObject({
        type: kind,
        message: 'CREATE app-1: as asked',
        nonRetryable: kind !== 'Retryable' && kind !== 'NotReady',
        nextRetryDelay: 2_000,
      });
      expect(failure.first).toMatchObject({ exitCode: 3, result: { providerid: 'm-9' } });
      expect(failure.first.result).not.toHaveProperty('other');
      expect(failure.category).toBe(kind === 'NotReady' ? 'BENIGN' : undefined);
    },
  );

  it.each([
    ['error', 'boom'],
    ['string', 'threw "boom"'],
    ['nothing', 'threw undefined'],
  ])(
    'anything else (%s) counts as an internal error, and fails the task the third time in a row',
    async (how, words) => {
      const first = await failureOf(bench.run('CREATE', request({ how })));
      expect(first).toMatchObject({
        type: 'Internal',
        nonRetryable: false,
        message: `CREATE app-1: ${words}`,
      });
      const later = async (faults: number): Promise<boolean | undefined | null> =>
        (await failureOf(bench.run('CREATE', request({ how }), 9, { step: '', faults }))).nonRetryable;
      expect(await later(0)).toBe(false);
      expect(await later(1)).toBe(false);
      expect(await later(2)).toBe(true);
    },
  );

  it('is ended at the deadline of the call, and is retried', async () => {
    const failure = await failureOf(bench.run('CREATE', request({ how: 'hang' })));
    expect(failure).toMatchObject({
      type: 'Retryable',
      nonRetryable: false,
      message: 'CREATE app-1: provider fault did not answer within 200 ms',
    });
  });
});

describe('what a plugin returns', () => {
  it('is accepted if it is valid', async () => {
    const outcome = await bench.run('CREATE', request({ how: 'good' }));
    expect(outcome).toMatchObject({
      result: { providerid: 'm-1', 'ssh-auth': { user: 'root' } },
      log: 'u/app-1/1.1.-.CREATE.1.log',
    });
  });

  it.each([
    ['number', 'returned no valid result: it is a number'],
    ['list', 'it is a list'],
    ['class', 'it is an object of a class'],
    ['bigint', 'result.size'],
    ['unknown key', 'state is an unknown key'],
    ['word status', 'status should be a whole number, but is "ok"'],
    ['status 7', 'plugin fault ended with status 7'],
    ['reserved', 'plugin fault returned flavor, nodes, which is reserved for Heddle'],
    ['10 MB', '8192'],
    ['no id', 'returned no providerid from CREATE'],
    ['empty', 'returned no providerid from CREATE'],
    ['blank id', 'returned providerid that should be text'],
  ])('is refused without retries if it is invalid: %s', async (how, words) => {
    const failure = await failureOf(bench.run('CREATE', request({ how })));
    expect(failure).toMatchObject({ type: 'Invalid', nonRetryable: true });
    expect(failure.message).toContain(words);
    expect(Buffer.byteLength(JSON.stringify([failure.message, failure.details]))).toBeLessThan(10_000);
  });

  it('still names the machine if its status is a failure', async () => {
    const { first } = await failureOf(bench.run('CREATE', request({ how: 'status 7' })));
    expect(first).toMatchObject({ exitCode: 7, stdout: 'out', stderr: 'err', result: { providerid: 'm-7' } });
  });

  it('is refused when the payload of the node would grow too large', async () => {
    const config = { ...request({}).config, earlier: 'y'.repeat(10_000) };
    const failure = await failureOf(bench.run('CREATE', request({ how: 'full' }, { config })));
    expect(failure).toMatchObject({
      type: 'Invalid',
      nonRetryable: true,
      message: expect.stringContaining('the limit is 16384'),
    });
  });

  it('fails DELETE if its status is not 0', async () => {
    expect(await failureOf(bench.run('DELETE', request({})))).toMatchObject({
      type: 'Invalid',
      message: 'DELETE app-1: plugin fault ended with status 1',
    });
  });

  it.each([
    ['no address', 'Invalid', 'returned no usable ipaddress (none)'],
    ['any address', 'Invalid', '0.0.0.0'],
    ['no user', 'Invalid', 'no ssh-auth.user'],
    ['closed', 'NotReady', 'cannot reach'],
  ])('CONFIRM with %s is %s', async (how, type, words) => {
    const before = bench.logged.length;
    const failure = await failureOf(bench.run('CONFIRM', request({ how })));
    expect(failure).toMatchObject({
      type,
      nonRetryable: type === 'Invalid',
      message: expect.stringContaining(words),
    });
    const end = type === 'NotReady' ? 'is not ready yet' : 'failed';
    const lines = bench.logged.slice(before).filter((line) => line.startsWith('CONFIRM app-1 '));
    expect(lines.map((line) => line.slice(0, line.indexOf(' {')))).toEqual([`CONFIRM app-1 ${end}`]);
  });
});

describe('before the plugin is asked', () => {
  it.each([
    [
      'an account that this worker does not have',
      { provider: { name: 'other', type: 'fault', fields: {} } },
      'no provider "other" (it has: fault); add it to heddle.yaml',
    ],
    [
      'fields that the plugin does not declare',
      { provider: { name: 'fault', type: 'fault', fields: { hwo: 'x' } } },
      'fields of provider fault: fields.hwo',
    ],
  ])('%s fails the task for good', async (_what, more, words) => {
    expect(await failureOf(bench.run('CREATE', request({}, more)))).toMatchObject({
      type: 'Invalid',
      nonRetryable: true,
      message: expect.stringContaining(words),
    });
  });

  it('peers that cannot be read now are read again', async () => {
    const alone = await openBench(code, { askPeers: () => Promise.reject(new Error('UNAVAILABLE')) });
    try {
      const service = { name: 'web', action: { type: 'missing', fields: {} } };
      const install = { ...request({ how: 'good' }), service };
      expect(await failureOf(alone.run('INSTALL', install, 3))).toMatchObject({
        type: 'Retryable',
        nonRetryable: false,
        message: 'INSTALL web on app-1: cluster/web did not return its nodes (UNAVAILABLE)',
      });
      // A service that reads no peers, and a task of no service, do not wait for them.
      expect(await failureOf(alone.run('INSTALL', { ...install, peers: 'none' }))).toMatchObject({
        type: 'Invalid',
        message: expect.stringContaining('missing'),
      });
      await alone.run('CREATE', request({ how: 'good' }));
    } finally {
      await alone.close();
    }
  });
});

// Promise: redaction
describe('secrets', () => {
  it('a secret is removed from failures and logs', async () => {
    const failure = await failureOf(bench.run('CREATE', request({ how: 'leak' })));
    expect(failure.message).toBe('CREATE app-1: call with (secret) refused');
    expect(failure.first.stderr).toBe('sent (secret)');
    expect(failure.cause?.message).toBe('token (secret)');
    const told = JSON.stringify([
      failure.message,
      failure.stack,
      failure.details,
      failure.cause?.stack,
      bench.logged,
    ]);
    expect(told).not.toContain(secret);
    expect(bench.logged.join('\n')).toContain('call with (secret) refused');
  });

  it('a secret is removed from the progress text that a plugin reports', async () => {
    const environment = new MockActivityEnvironment({ attempt: 1 }, { logger: new DefaultLogger('ERROR') });
    await environment.run(async () => {
      const attempt = beginAttempt(bench.parts, {
        taskId: 'u/app-1#1/-/LOAD/1',
        title: 'LOAD app-1',
        facts: {},
        openLog: () => noTaskLog,
      });
      attempt.hide([secret]);
      attempt.at(`copies https://images/?key=${secret}`);
      const said = JSON.stringify([attempt.step(), attempt.heartbeat()]);
      await attempt.close();
      expect(said).toContain('copies https://images/?key=(secret)');
      expect(said).not.toContain(secret);
    });
  });

  it('a secret is removed from the output of a script, in its result and in its log', async () => {
    const node = await startNode();
    try {
      const { host, port, user, password } = node.target;
      const action = {
        type: 'shell',
        fields: { script: 'cat; cat "$HEDDLE_DATA" >&2', data: { secret: 'env:TOKEN' } },
      };
      const config = {
        ...request({}).config,
        ipaddress: host,
        'ssh-port': port,
        'ssh-auth': { user, password: password ?? '' },
        'ssh-host-key': node.target.hostKey,
      };
      const outcome = await bench.run(
        'START',
        request({}, { taskId: 'u/app-1#1/app/START/1', config, service: { name: 'app', action } }),
      );
      expect(outcome).toMatchObject({ stdout: '(secret)', stderr: '(secret)' });
      const store = join(bench.folder, 'store');
      const files = (await readdir(store, { recursive: true, withFileTypes: true })).filter((entry) =>
        entry.isFile(),
      );
      const texts = await Promise.all(
        files.map((entry) => readFile(join(entry.parentPath, entry.name), 'utf8')),
      );
      expect(texts.some((text) => text.includes('(secret)'))).toBe(true);
      expect(texts.join('\n')).not.toContain(secret);
    } finally {
      await node.close();
    }
  });
});

describe('BOOTSTRAP', () => {
  it('is executed by every automator that prepares the node, is repeatable, and fails if any of them does', async () => {
    const node = await startNode();
    try {
      const { host, port, user, password } = node.target;
      const config = {
        ...request({}).config,
        ipaddress: host,
        'ssh-port': port,
        'ssh-auth': { user, password: password ?? '' },
        'ssh-host-key': node.target.hostKey,
      };
      const bootstrap = (operation: string, automators: readonly string[]) =>
        bench.run(
          'BOOTSTRAP',
          request({}, { taskId: `u/app-1#1/-/BOOTSTRAP/${operation}`, operation, config, automators }),
        );
      await bootstrap('1', ['fake']);
      await bootstrap('2', ['fake']);
      expect((await readdir(node.home)).toSorted()).toEqual(['.heddle', '.heddle-fake']);
      // Nobody has Chef here: the others before and after it make no difference.
      await expect(bootstrap('3', ['chef', 'fake'])).rejects.toMatchObject({
        type: 'ScriptFailed',
        message: expect.stringContaining('automator chef: the node has no cinc-solo or chef-solo'),
      });
    } finally {
      await node.close();
    }
  });
});
