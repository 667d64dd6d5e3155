import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ApplicationFailure } from '@temporalio/common';
import { afterEach, describe, expect, it } from 'vitest';
import type { ActivityParts } from '../../src/activities/parts.js';
import { createRateLimiter } from '../../src/activities/provider/rate-limiter.js';
import { openBench, request, secret, type Bench } from '../harness/activities/parts.js';

let bench: Bench;
afterEach(() => bench.close());

/** CONFIRM of a provider whose machines fail so, and whose console is this code. */
async function confirm(
  kind: string,
  code: string,
  fails = `async confirm() { throw new PluginError('${kind}', 'no boot'); }`,
  withinMs?: number,
  changes: Partial<ActivityParts> = {},
  descriptor: object = {},
): Promise<{ readonly message: string; readonly log: string }> {
  bench = await openBench(
    `
    async create() {} async delete() {}
    ${fails}
    ${code}`,
    changes,
    descriptor,
  );
  const failure: unknown = await bench
    .run('CONFIRM', request({}, { taskId: 'u/app-1#1/-/CONFIRM/1' }), 1, undefined, withinMs)
    .catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(ApplicationFailure);
  const { message, type } = failure as ApplicationFailure;
  expect(type).toBe(kind);
  const folder = join(bench.folder, 'store');
  const logs = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.log'),
  );
  return { message, log: logs.map((file) => readFileSync(join(folder, file), 'utf8')).join('') };
}

describe('the console of a machine whose CONFIRM fails', () => {
  it('is in the log of the task without secrets, and the message ends with its last line', async () => {
    const { message, log } = await confirm(
      'MachineFailed',
      `async consoleOutput({ key }) { return 'booting ' + key + ' ${secret}\\nKernel panic\\n'; }`,
    );
    expect(message).toMatch(/no boot \(its console is in the task's log, and ends with: Kernel panic\)$/);
    expect(log).toContain('booting u/app-1/1');
    expect(log).toContain('Kernel panic');
    expect(log).not.toContain(secret);
  });

  it('is cut to its end', async () => {
    const { log } = await confirm(
      'MachineFailed',
      `async consoleOutput() { return 'beginning' + 'x'.repeat(200_000) + '\\nend'; }`,
    );
    expect(log).toContain('the last 3 characters');
    expect(log).not.toContain('beginning');
  });

  it.each([
    ['fails', `async consoleOutput() { throw new Error('no console today'); }`],
    ['is empty', `async consoleOutput() { return undefined; }`],
    ['is not offered', ''],
  ])('changes nothing if it %s', async (_, code) => {
    expect((await confirm('MachineFailed', code)).message).toMatch(/no boot$/);
  });

  it('is kept by an attempt that is cut off at the end of its time', async () => {
    const { message, log } = await confirm(
      'NotReady',
      `async consoleOutput() { this.signal.throwIfAborted(); return 'fsck asks a question'; }`,
      `confirm() { return new Promise((_, reject) => this.signal.addEventListener('abort', () => reject(this.signal.reason))); }`,
      15_000,
    );
    expect(message).toMatch(/timed out; last step: .* \(its console.*ends with: fsck asks a question\)$/);
    expect(log).toContain('fsck asks a question');
  });

  it('ends with the time of the task if it is never read', async () => {
    const { message } = await confirm(
      'NotReady',
      `consoleOutput() { return new Promise(() => undefined); }`,
      `confirm() { return new Promise((_, reject) => this.signal.addEventListener('abort', () => reject(this.signal.reason))); }`,
      8_000,
    );
    expect(message).toMatch(/timed out; last step: [^(]*$/);
  });

  it.each([
    [
      'its turn at the account',
      (): Partial<ActivityParts> => {
        let taken = 0;
        // The lock is busy after CONFIRM.
        const take = (): Promise<boolean> => {
          taken += 1;
          return taken === 1 ? Promise.resolve(true) : new Promise(() => undefined);
        };
        return { locks: () => ({ take, release: () => Promise.resolve() }) };
      },
      { serial: true },
    ],
    [
      'the rate limit of the account',
      (): Partial<ActivityParts> => {
        let waitMs = 0;
        const take = (): Promise<number> => {
          const now = waitMs;
          waitMs = 600_000;
          return Promise.resolve(now);
        };
        const limiter = createRateLimiter({ account: 'fault', perSecond: 1, slots: { take } });
        return { rateLimiters: () => limiter };
      },
      {},
    ],
  ])('is given up if it waits too long for %s', async (_, changes, descriptor) => {
    const { message } = await confirm(
      'MachineFailed',
      `async consoleOutput() { return 'booting'; }`,
      undefined,
      undefined,
      changes(),
      descriptor,
    );
    expect(message).toMatch(/no boot$/);
  });

  it('is not read while there is time for another attempt', async () => {
    const { message } = await confirm('NotReady', `async consoleOutput() { return 'still booting'; }`);
    expect(message).toMatch(/no boot$/);
  });
});
