import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { runSuite } from '../../../src/testing/run-suite.js';
import { createSuite, type Suite, type SuiteOptions } from '../../../src/testing/runner.js';

type Id = 'good' | 'bad' | 'lacking' | 'inapplicable' | 'endless' | 'omitted' | 'waiting';
const closed: string[] = [];

function suiteWith(options: Partial<SuiteOptions<Id, string>> = {}): Suite {
  return createSuite<Id, string>({
    title: 'a suite',
    cases: [
      { id: 'good', title: 'passes', run: () => Promise.resolve() },
      { id: 'bad', title: 'fails', run: (bench) => Promise.reject(new Error(`with ${bench}`)) },
      { id: 'lacking', title: 'needs more', lacks: () => 'it has no find', run: () => Promise.resolve() },
      { id: 'inapplicable', title: 'is void', inapplicable: () => 'no offers', run: () => Promise.resolve() },
      { id: 'endless', title: 'hangs', run: () => pause(60_000, undefined, { ref: false }) },
      { id: 'omitted', title: 'is left out', run: () => Promise.reject(new Error('it ran')) },
      { id: 'waiting', title: 'comes after', run: () => Promise.reject(new Error('it ran')) },
    ],
    without: { omitted: 'it does not apply' },
    open: () =>
      Promise.resolve({
        bench: 'secret-7f3a',
        redact: (text) => text.replaceAll('secret-7f3a', '(secret)'),
        close: () => {
          closed.push('closed');
          return Promise.resolve();
        },
      }),
    timeoutMs: 50,
    ...options,
  });
}

test('a suite that runs by itself reports each case, without secrets, and closes what it opened', async () => {
  const seen: string[] = [];
  const outcomes = await runSuite(suiteWith(), { onEnd: ({ id }) => seen.push(id) });
  expect(outcomes.map(({ id, outcome, why }) => [id, outcome, why])).toEqual([
    ['good', 'passed', undefined],
    ['bad', 'failed', 'with (secret)'],
    ['lacking', 'failed', expect.stringMatching(/^it has no find\. .*without: \{ "lacking": /)],
    ['inapplicable', 'skipped', 'no offers'],
    ['endless', 'failed', 'it did not end within 0.05 s'],
    ['omitted', 'skipped', 'left out: it does not apply'],
    ['waiting', 'skipped', 'not run: case endless did not end'],
  ]);
  expect(seen).toEqual(outcomes.map(({ id }) => id));
  expect(closed.splice(0)).toEqual(['closed']);
});

test('an interrupted suite begins no further case, and closes what it opened', async () => {
  const stop = new AbortController();
  const outcomes = await runSuite(suiteWith(), { signal: stop.signal, onEnd: () => stop.abort() });
  expect(outcomes.map(({ id }) => id)).toEqual(['good']);
  expect(closed.splice(0)).toEqual(['closed']);
});

test('a suite that cannot be opened runs no case', async () => {
  const open = () => Promise.reject(new Error('the plugin cannot be loaded'));
  await expect(runSuite(suiteWith({ open }))).rejects.toThrow('the plugin cannot be loaded');
});

test('cases are left out only with a reason in words', () => {
  expect(() => suiteWith({ without: { good: 'no' } })).toThrow('without.good: say in words why');
});
