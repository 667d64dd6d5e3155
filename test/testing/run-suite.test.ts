import { expect, test } from 'vitest';
import { runSuite } from '../../src/testing/run-suite.js';
import { createSuite, type Case } from '../../src/testing/runner.js';

test('no case runs after one that did not end', async () => {
  const began: string[] = [];
  const one = (id: string, run: () => Promise<void>): Case<string, undefined> => ({
    id,
    title: `does ${id}`,
    run: () => {
      began.push(id);
      return run();
    },
  });
  let isClosed = false;
  const suite = createSuite({
    title: 'a suite',
    cases: [
      one('fails', () => Promise.reject(new Error('wrong'))),
      one('hangs', () => new Promise(() => undefined)),
      one('waits', () => Promise.resolve()),
    ],
    without: {},
    open: () =>
      Promise.resolve({
        bench: undefined,
        redact: (text: string) => text,
        close: () => {
          isClosed = true;
          return Promise.resolve();
        },
      }),
    timeoutMs: 100,
  });
  expect(await runSuite(suite)).toMatchObject([
    { id: 'fails', outcome: 'failed', why: 'wrong' },
    { id: 'hangs', outcome: 'failed', why: 'it did not end within 0.1 s' },
    { id: 'waits', outcome: 'skipped', why: 'not run: case hangs did not end' },
  ]);
  expect(began).toEqual(['fails', 'hangs']);
  expect(isClosed).toBe(true);
});
