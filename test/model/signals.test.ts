import { setTimeout as pause } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { anySignal } from '../../src/model/signals.js';
import { until } from '../harness/until.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Nothing but the signal that is made of them refers to these. */
function limited(ms: number, nested: boolean): AbortSignal {
  const own = new AbortController().signal;
  const signal = anySignal([own, AbortSignal.timeout(ms)]);
  return nested ? anySignal([new AbortController().signal, signal]) : signal;
}

it.each([
  ['a signal', false],
  ['a signal made of such signals', true],
])('%s has a time limit that survives garbage collection', async (_, nested) => {
  const signal = limited(300, nested);
  let told = false;
  signal.addEventListener('abort', () => {
    told = true;
  });
  for (let round = 0; round < 10; round += 1) {
    collectGarbage();
    await pause(10);
  }
  await until('the limit', () => told);
  expect(signal.reason).toMatchObject({ name: 'TimeoutError' });
});
