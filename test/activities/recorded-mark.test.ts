import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { beginAttempt, readMark } from '../../src/activities/attempt.js';
import { recordMark } from '../../src/activities/recorded-mark.js';
import { noTaskLog } from '../../src/activities/task-log.js';
import { openBench, type Bench } from '../harness/activities/parts.js';

const mark = { state: 'begun' };
let bench: Bench;
beforeAll(async () => {
  bench = await openBench('async create() {} async confirm() {} async delete() {}');
});
afterAll(() => bench.close());

/**
 * Records in an attempt to which earlier ones left `heartbeatDetails`; gives what its own heartbeats said.
 */
async function record(
  recordHeartbeat: Bench['parts']['runs']['recordHeartbeat'],
  heartbeatDetails?: unknown,
) {
  const environment = new MockActivityEnvironment(
    { heartbeatDetails },
    { logger: new DefaultLogger('ERROR') },
  );
  const marks: unknown[] = [];
  environment.on('heartbeat', (details: unknown) => marks.push(readMark(details)));
  const end = await environment.run(async () => {
    const attempt = beginAttempt(bench.parts, {
      taskId: 'mark',
      title: 'MARK',
      facts: { cluster: 'web', provider: 'fault' },
      openLog: () => noTaskLog,
    });
    try {
      return await recordMark({ runs: { ...bench.parts.runs, recordHeartbeat } }, attempt, {
        mark,
        what: 'the mark',
      }).then(
        () => 'recorded',
        (error: unknown) => error,
      );
    } finally {
      await attempt.close();
    }
  });
  return { end, marks };
}

const refusing = (): Promise<boolean> => Promise.resolve(false);

test('a mark that the server does not take permits nothing, and is withdrawn', async () => {
  const { end, marks } = await record(refusing);
  expect(end).toMatchObject({
    kind: 'Retryable',
    message: expect.stringContaining('the mark could not be recorded'),
  });
  expect(marks).toEqual([mark, null]);
});

test('a mark that an earlier attempt recorded stays, whatever the server answers later', async () => {
  const { end, marks } = await record(refusing, { step: 'x', mark: { state: 'begun' } });
  expect([end, marks]).toEqual(['recorded', []]);
});

test('a new mark that cannot be recorded leaves the previous one', async () => {
  const { end, marks } = await record(refusing, { step: 'x', mark: 'sent' });
  expect(end).toMatchObject({ kind: 'Retryable' });
  expect(marks).toEqual([mark, 'sent']);
});
